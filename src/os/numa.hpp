#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/pci_address.hpp>

#include <cstddef>
#include <string>

namespace rdmagpu::os {

enum class NodePolicy : int { Preferred = 1, Bind = 2 }; // the kernel's MPOL_ values

/// Directs pages of the range that are not populated yet to a node.
Result<void> setNode(void* address, std::size_t bytes, int node, NodePolicy) noexcept;
/// The node of the page at `address`, which must be populated.
Result<int> nodeOf(const void* address) noexcept;
/// The node of the CPU that this thread runs on; -1 unknown.
int currentNode() noexcept;
/// The node that a PCI device is attached to; -1 unknown. `root` replaces "/".
int nodeOf(const PciAddress&, const std::string& root = "");

} // namespace rdmagpu::os
