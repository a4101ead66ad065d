#pragma once
#include <rdmagpu/pci_address.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace rdmagpu {

/// Which GPU to use. Empty: the backend's first. Several answers must name the same GPU; answers
/// that contradict each other are InvalidArgument. One that is named and is not there is NotFound, under Auto
/// too. Backends without a GPU do not read it, but for PciP2p: there it names the device whose memory is
/// used, by `pci`, or by `ordinal` among those that have peer-to-peer memory.
struct GpuSelector {
  std::optional<int> ordinal;                    ///< The API's own numbering.
  std::optional<PciAddress> pci{};               ///< The same in every API.
  std::optional<std::array<std::byte, 16>> uuid; ///< As CUDA, Vulkan and Level Zero report it.
  std::optional<std::array<std::byte, 8>> luid;  ///< Windows' adapter LUID.

  bool empty() const noexcept { return !ordinal && !pci && !uuid && !luid; }
};

} // namespace rdmagpu
