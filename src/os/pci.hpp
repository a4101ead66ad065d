#pragma once
#include <rdmagpu/pci_address.hpp>

#include <string>

namespace rdmagpu::os {

/// True when the kernel lists this machine's PCI devices and this one is not among them. False where there is
/// no list to look at, as in a sandbox without /sys. `root` replaces "/".
bool isAbsent(const PciAddress&, const std::string& root = "");

} // namespace rdmagpu::os
