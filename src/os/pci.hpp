#pragma once
#include <rdmagpu/pci_address.hpp>

#include <cstdint>
#include <string>

namespace rdmagpu::os {

/// True when the kernel lists this machine's PCI devices and this one is not among them. False where there is
/// no list to look at, as in a sandbox without /sys. `root` replaces "/".
bool isAbsent(const PciAddress&, const std::string& root = "");

/// The size of a device's base address register `bar`: of the window through which it shows memory. 0
/// where the kernel tells of none.
std::uint64_t barBytes(const PciAddress&, int bar, const std::string& root = "");

} // namespace rdmagpu::os
