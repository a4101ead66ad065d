#pragma once
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::os {

/// True when the kernel lists this machine's PCI devices and this one is not among them. False where there is
/// no list to look at, as in a sandbox without /sys. `root` replaces "/".
bool isAbsent(const PciAddress&, const std::string& root = "");

/// The size of a device's base address register `bar`: of the window through which it shows memory. 0
/// where the kernel tells of none.
std::uint64_t barBytes(const PciAddress&, int bar, const std::string& root = "");

/// The last PCI device on the way to a node of /sys: that which a block device or a NIC is, or belongs to.
RDMAGPU_API std::optional<PciAddress> pciBehind(const std::string& node);

/// How many nodes the ways to two devices share, counted from the root: its own, and each bridge that both
/// are behind. 0 where they are behind different roots, or the kernel does not tell.
std::size_t sharedPath(const PciAddress&, const PciAddress&, const std::string& root = "");

} // namespace rdmagpu::os
