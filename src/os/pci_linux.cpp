#include <os/files.hpp>
#include <os/pci.hpp>

namespace rdmagpu::os {

bool isAbsent(const PciAddress& address, const std::string& root) {
  const std::string devices = root + "/sys/bus/pci/devices";
  return exists(devices + "/" + address.text()) == false && exists(devices) == true;
}

} // namespace rdmagpu::os
