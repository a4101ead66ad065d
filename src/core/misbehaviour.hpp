#pragma once
#include <core/peer_job.hpp>

#include <cstddef>
#include <cstdint>

namespace rdmagpu {

/// How many of a frame's last bytes Misbehaviour::WriteLate moves too late.
constexpr std::size_t lateBytes = 64;

/// How many of the next slot's bytes Misbehaviour::OverrunSlot touches.
constexpr std::size_t overrunBytes = 64;

struct SlotRange {
  std::uint32_t slot{};
  std::size_t offset{};
  std::size_t bytes{}; ///< No more than overrunBytes.
};

/// What is touched behind a frame at the start of `slot`, by a peer that overruns it, or its slot: always
/// within the peer's slots, no bytes where there are none.
SlotRange overrunOf(const PeerJob&, std::uint64_t frame, std::uint32_t slot, std::size_t bytes) noexcept;

/// The slot that is taken for the frame's: its own, but for Misbehaviour::WrongSlot.
std::uint32_t takenFor(const PeerJob&, std::uint64_t frame, std::uint32_t slot, std::size_t bytes) noexcept;

} // namespace rdmagpu
