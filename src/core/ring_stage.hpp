#pragma once
#include <core/cache_line.hpp>
#include <core/progress.hpp>
#include <core/slot_queue.hpp>
#include <core/wake_gate.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rdmagpu {

/// What stands between the two sides of a staged ring. The producer's frames go through other memory, and
/// the consumer sees how far they have come out of it. Everything else is as in any ring, so that policy,
/// order and counters are those of a direct path.
///
/// A thread of its own, the pump, takes what is published and moves it. It is done with a slot once `moved`
/// of it is whole and it is `offered`: then, and not before, the ring may hand the slot out again.
struct RingStage {
  struct alignas(cacheLine) Slot {
    RingCompletion filled{}; ///< The producer's. The bytes that it has published are there once it is done.
    std::atomic<bool> offered{}; ///< The consumer may take the frame.
    std::atomic<bool> direct{};  ///< The peer has the application's slot this time: nothing is moved.
  };

  explicit RingStage(std::uint32_t slotCount) : moved(slotCount), slots(slotCount), published(slotCount) {}

  /// Before the frame is in the ring; returns what the consumer has to wait for.
  RingCompletion admit(std::uint32_t slot, std::size_t bytes, RingCompletion filled) noexcept {
    moved[slot].bytes = bytes;
    moved[slot].bytesReady.store(0, std::memory_order_relaxed);
    slots[slot].filled = filled;
    slots[slot].offered.store(false, std::memory_order_relaxed);
    return {&slots[slot], [](void* context) noexcept {
              return static_cast<Slot*>(context)->offered.load(std::memory_order_acquire);
            }};
  }
  /// Once it is in the ring.
  void enqueue(std::uint32_t slot) noexcept {
    published.back() = slot;
    published.push();
    gate.signal();
  }

  LineArray<Progress> moved; ///< The pump's, but for what admit() sets.
  LineArray<Slot> slots;
  SlotQueue<std::uint32_t> published; ///< To the pump.
  WakeGate gate;                      ///< Where the pump sleeps.
  std::atomic<bool> ended{};          ///< The pump moves nothing any more.
  FrameProof* proof{};                ///< Of the frames that are moved; null: they are not proven.
  /// Slots go out as the application's own. Once it is false it stays so.
  std::atomic<bool> directNow{};
};

} // namespace rdmagpu
