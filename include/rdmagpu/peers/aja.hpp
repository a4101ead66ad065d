#pragma once
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/peers/support.hpp>

// The SDK's own header.
#include <ntv2card.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rdmagpu::peers {

/// A slot for CNTV2Card's transfers. Of a GPU's memory the SDK wants the device pointer as if it were one of
/// the CPU's.
inline ULWord* ajaAddress(const Handoff& handoff) noexcept {
  return reinterpret_cast<ULWord*>(static_cast<std::uintptr_t>(addressBits(handoff)));
}

/// A card of AJA's, through CNTV2Card::DMABufferLock of its NTV2 SDK: of a GPU's memory with inRDMA, which
/// takes a driver that was built for it. Header only, for code that has the SDK. Written after its published
/// names, and never run with a card.
///
/// The card must be open, and is borrowed until the PeerRegistration has let go. Its transfers
/// (DMAReadFrame, ...) return when they are done; who uses AutoCirculate sets Registrar::quiesce to what
/// stops it.
///
/// `proofFrame` is a frame of the card's own memory that nothing else uses meanwhile: verify() sends its
/// bytes through there, both ways, by the card's DMA engine.
Registrar ajaRegistrar(CNTV2Card& card, std::optional<ULWord> proofFrame = {});

namespace detail {

/// hints() knows this one.
inline constexpr const char* lockForRdma = "DMABufferLock (inRDMA)";

inline Result<void> ajaResult(const char* call, bool done) noexcept {
  return done ? Result<void>{} : Result<void>{peerError(call, 0, "false")};
}

} // namespace detail

inline Registrar ajaRegistrar(CNTV2Card& card, std::optional<ULWord> proofFrame) {
  using namespace detail;
  Registrar aja{.name = "aja"};
  aja.limits = {.accepts = {HandoffKind::HostPointer, HandoffKind::CudaPointer},
                .alignment = 65536, // of a GPU's pages; the driver mishandles a head offset
                .maxBytes = UINT32_MAX / 65536 * 65536, // sizes are ULWords
                .memAllocOnly = true};                  // others were seen to be locked, and never written
  aja.pin = [&card](const PinView& view) -> Result<std::uint64_t> {
    const bool rdma = kind(view.handoff) == HandoffKind::CudaPointer;
    if(!card.DMABufferLock(ajaAddress(view.handoff), static_cast<ULWord>(view.bytes), true, rdma))
      return peerError(rdma ? lockForRdma : "DMABufferLock", 0, "false");
    return 0;
  };
  aja.unpin = [&card](const PinView& view, std::uint64_t) {
    return ajaResult("DMABufferUnlock",
                     card.DMABufferUnlock(ajaAddress(view.handoff), static_cast<ULWord>(view.bytes)));
  };
  if(!proofFrame)
    return aja;
  aja.agent = Agent::Device;
  aja.write = [&card, frame = *proofFrame](const PinnedSlot& slot, std::span<const std::byte> bytes) {
    const auto size = static_cast<ULWord>(bytes.size());
    const auto* from = reinterpret_cast<const ULWord*>(bytes.data()); // bytes by any name
    if(!card.DMAWriteFrame(frame, from, size))
      return ajaResult("DMAWriteFrame", false);
    return ajaResult("DMAReadFrame", card.DMAReadFrame(frame, ajaAddress(slot.handoff), size));
  };
  aja.read = [&card, frame = *proofFrame](const PinnedSlot& slot, std::span<std::byte> bytes) {
    const auto size = static_cast<ULWord>(bytes.size());
    if(!card.DMAWriteFrame(frame, ajaAddress(slot.handoff), size))
      return ajaResult("DMAWriteFrame", false);
    return ajaResult("DMAReadFrame", card.DMAReadFrame(frame, reinterpret_cast<ULWord*>(bytes.data()), size));
  };
  return aja;
}

} // namespace rdmagpu::peers
