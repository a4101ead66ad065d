#pragma once
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/peers/support.hpp>

// The library's own headers.
#include <mtl/mtl_api.h>

#include <mtl/st_pipeline_api.h>

#include <cstddef>
#include <cstdint>

namespace rdmagpu::peers {

/// Intel's Media Transport Library: all host slots of a buffer mapped for its ports by one mtl_dma_map();
/// PinnedSlot::key is the IOVA of the first. Header only, for code that has the library. Written after its
/// published names, and never run with a port of DPDK's.
///
/// The library's CPU cores write the frames, or its DMA engines; there is no way into a GPU's memory. It must
/// not be shut down (mtl_uninit), and its sessions must be freed, before the registration is released.
inline Registrar mtlRegistrar(mtl_handle mtl) {
  Registrar registrar{.name = "mtl", .unit = PinUnit::Region};
  registrar.limits = {.accepts = {HandoffKind::HostPointer}, .alignment = mtl_page_size(mtl)};
  registrar.pin = [mtl](const PinView& view) -> Result<std::uint64_t> {
    const mtl_iova_t iova = mtl_dma_map(mtl, cpuAddress(view.handoff), view.bytes);
    if(iova == MTL_BAD_IOVA)
      return peerError("mtl_dma_map", -1, "MTL_BAD_IOVA");
    return iova;
  };
  registrar.unpin = [mtl](const PinView& view, std::uint64_t iova) -> Result<void> {
    const int code = mtl_dma_unmap(mtl, cpuAddress(view.handoff), iova, view.bytes);
    return code < 0 ? Result<void>{peerError("mtl_dma_unmap", code)} : Result<void>{};
  };
  return registrar;
}

/// A slot as an external frame of a session, for frames that are one plane of `bytes` bytes without padding.
inline st_ext_frame mtlExtFrame(const PinnedSlot& slot, std::size_t bytes) noexcept {
  st_ext_frame frame{};
  frame.addr[0] = cpuAddress(slot.handoff);
  frame.iova[0] = slot.key + slot.offset;
  frame.size = bytes;
  return frame;
}

} // namespace rdmagpu::peers
