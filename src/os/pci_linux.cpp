#include <os/files.hpp>
#include <os/pci.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace rdmagpu::os {
namespace {

constexpr const char* devices = "/sys/bus/pci/devices";

/// The way to a device: its root, each bridge, itself. Its link leads there.
std::filesystem::path pathTo(const PciAddress& address, const std::string& root) {
  std::error_code failed;
  const auto link = std::filesystem::read_symlink(root + devices + "/" + address.text(), failed);
  std::filesystem::path path;
  for(const auto& node : link) {
    if(!path.empty() || node.native().starts_with("pci"))
      path /= node;
  }
  return path;
}

} // namespace

bool isAbsent(const PciAddress& address, const std::string& root) {
  return exists(root + devices + "/" + address.text()) == false && exists(root + devices) == true;
}

std::optional<PciAddress> pciBehind(const std::string& node) {
  std::error_code failed;
  std::optional<PciAddress> last;
  for(const auto& name : std::filesystem::canonical(node, failed)) {
    if(const auto address = PciAddress::parse(name.native()))
      last = address;
  }
  return last;
}

std::uint64_t barBytes(const PciAddress& address, int bar, const std::string& root) {
  // The file through which the register could be mapped is as long as that. One call; reading and
  // parsing "resource" would cost ten times as much.
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(
      root + devices + "/" + address.text() + "/resource" + std::to_string(bar), failed);
  return failed ? 0 : bytes;
}

std::size_t sharedPath(const PciAddress& a, const PciAddress& b, const std::string& root) {
  const auto toA = pathTo(a, root);
  const auto toB = pathTo(b, root);
  const auto parted = std::mismatch(toA.begin(), toA.end(), toB.begin(), toB.end()).first;
  return static_cast<std::size_t>(std::distance(toA.begin(), parted));
}

} // namespace rdmagpu::os
