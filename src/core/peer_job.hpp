#pragma once
#include <core/peer_thread.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rdmagpu {

/// A slot as a software peer reaches it.
struct PeerMemory {
  std::byte* address{}; ///< Null: through the queue only.
  std::size_t size{};

  friend bool operator==(const PeerMemory&, const PeerMemory&) = default;
};

/// Refused where neither the CPU nor a queue reaches it. With a queue it is reached through that.
Result<PeerMemory> memoryOf(const char* call, const PeerSlot&, const CopyQueue*) noexcept;

/// What a software peer was told when it was made: how it reaches its slots, and how to behave.
struct PeerJob {
  std::vector<PeerMemory> slots;
  CopyQueue* queue{}; ///< Null: the CPU copies, at once.
  FrameRate rate{};
  Misbehaviour misbehaviour{};
  std::uint64_t misbehaveAt{};
  std::size_t sliceBytes{};
  std::function<PeerSlot(std::uint32_t)> slotNow;

  bool misbehaves(Misbehaviour how, std::uint64_t frame) const noexcept {
    return misbehaviour == how &&
           (how == Misbehaviour::Migrate ? frame >= misbehaveAt : frame == misbehaveAt);
  }

  /// Whether copies go on while the peer does something else. With a clock there is time for each.
  bool pipelined() const noexcept { return queue && !rate.paced(); }

  std::size_t largestSlot() const noexcept;

  /// Begin a copy into or out of a slot, whose range is one of the slot's. `from` and `to` stay as they are
  /// until it is over.
  Result<Copy> write(std::uint32_t slot, std::size_t offset, std::span<const std::byte> from) const;
  Result<Copy> read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const;
};

/// Writes the source's frames into the ring's slots until there are no more, or none are wanted.
Ending capture(const PeerJob&, SlotRing&, FrameSource&, PeerThread&);

/// Reads the ring's frames into memory of its own and hands them to the sink.
Ending playOut(const PeerJob&, SlotRing&, FrameSink&, PeerThread&);

} // namespace rdmagpu
