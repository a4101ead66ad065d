#include <os/files.hpp>
#include <os/pci.hpp>

#include <filesystem>
#include <system_error>

namespace rdmagpu::os {
namespace {

constexpr const char* devices = "/sys/bus/pci/devices";

} // namespace

bool isAbsent(const PciAddress& address, const std::string& root) {
  return exists(root + devices + "/" + address.text()) == false && exists(root + devices) == true;
}

std::uint64_t barBytes(const PciAddress& address, int bar, const std::string& root) {
  // The file through which the register could be mapped is as long as that. One call; reading and
  // parsing "resource" would cost ten times as much.
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(
      root + devices + "/" + address.text() + "/resource" + std::to_string(bar), failed);
  return failed ? 0 : bytes;
}

} // namespace rdmagpu::os
