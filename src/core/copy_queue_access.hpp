#pragma once
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/pci_address.hpp>

#include <optional>

namespace rdmagpu::core {

/// What the other files of this folder may know of a queue.
struct CopyQueueAccess {
  /// Whose copy engine it uses; empty on host memory.
  static std::optional<PciAddress> gpu(const CopyQueue&) noexcept;
};

} // namespace rdmagpu::core
