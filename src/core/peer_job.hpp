#pragma once
#include <core/peer_thread.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmagpu {

/// What a software peer was told when it was made: the slots as the CPU sees them, and how to behave.
struct PeerJob {
  std::vector<std::span<std::byte>> slots;
  FrameRate rate{};
  Misbehaviour misbehaviour{};
  std::uint64_t misbehaveAt{};
  std::size_t sliceBytes{};

  bool misbehaves(Misbehaviour how, std::uint64_t frame) const noexcept {
    return misbehaviour == how && misbehaveAt == frame;
  }
};

/// How many of a frame's last bytes Misbehaviour::WriteLate moves too late.
constexpr std::size_t lateBytes = 64;

/// Writes the source's frames into the ring's slots until there are no more, or none are wanted.
Ending capture(const PeerJob&, SlotRing&, FrameSource&, PeerThread&);

/// Reads the ring's frames into memory of its own and hands them to the sink.
Ending playOut(const PeerJob&, SlotRing&, FrameSink&, PeerThread&);

} // namespace rdmagpu
