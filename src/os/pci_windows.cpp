#include <os/pci.hpp>

namespace rdmagpu::os {

// Windows lists PCI devices by instance, and not by address for every user: nothing is known here.
bool isAbsent(const PciAddress&, const std::string&) { return false; }
std::optional<PciAddress> pciBehind(const std::string&) { return {}; }
std::uint64_t barBytes(const PciAddress&, int, const std::string&) { return 0; }
std::size_t sharedPath(const PciAddress&, const PciAddress&, const std::string&) { return 0; }

} // namespace rdmagpu::os
