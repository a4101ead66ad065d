#pragma once
#include <core/cache_line.hpp>
#include <core/progress.hpp>
#include <core/ring_stage.hpp>
#include <core/slot_completion.hpp>
#include <core/slot_queue.hpp>
#include <core/wake_gate.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rdmagpu {

/// Adds to a counter that has one writer and any readers.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

/// What is known of a published frame.
struct Published {
  std::uint32_t slot{};
  bool whole{};
  std::uint64_t sequence{};
  std::int64_t timestamp{};
  std::size_t bytes{};
};

/// A published frame in the queue. Two of them fill a cache line, which is all that the consumer of a
/// whole frame need fetch from the producer.
///
/// Under Newest it must be read before it is claimed, and counts only if the claim succeeds: once it
/// is claimed the producer can come round and fill the cell again, since it takes back frames itself
/// and so needs none from the consumer. Hence the atomics: such a read may meet a write.
class alignas(cacheLine / 2) ReadyFrame {
public:
  std::uint32_t slot() const noexcept { return m_slot.load(std::memory_order_relaxed); }
  Published load() const noexcept {
    return {.slot = slot(),
            .whole = m_whole.load(std::memory_order_relaxed),
            .sequence = m_sequence.load(std::memory_order_relaxed),
            .timestamp = m_timestamp.load(std::memory_order_relaxed),
            .bytes = m_bytes.load(std::memory_order_relaxed)};
  }
  void store(const Published& frame) noexcept {
    m_slot.store(frame.slot, std::memory_order_relaxed);
    m_whole.store(frame.whole, std::memory_order_relaxed);
    m_sequence.store(frame.sequence, std::memory_order_relaxed);
    m_timestamp.store(frame.timestamp, std::memory_order_relaxed);
    m_bytes.store(frame.bytes, std::memory_order_relaxed);
  }

private:
  std::atomic<std::uint32_t> m_slot{};
  std::atomic<bool> m_whole{};
  std::atomic<std::uint64_t> m_sequence{};
  std::atomic<std::int64_t> m_timestamp{};
  std::atomic<std::size_t> m_bytes{};
};

/// What only the producer writes.
struct alignas(cacheLine) ProducerSide {
  explicit ProducerSide(std::uint32_t slotCount) : holds(slotCount), parked(slotCount), progress(slotCount) {}

  LineArray<bool> holds;
  LineArray<std::uint32_t> parked; ///< Free slots, a stack. Those in it may not be usable yet.
  std::uint32_t parkedCount{};
  /// Free slots that are handed out before those, in this order: their canaries are being laid. With two of
  /// them one has been for a whole frame when it is wanted, however soon that is.
  std::array<std::uint32_t, 2> ahead{};
  std::uint32_t aheadCount{};
  std::uint64_t nextSequence{};
  std::atomic<std::uint64_t> drops{};
  LineArray<Progress> progress;
};

/// What only the consumer writes.
struct alignas(cacheLine) ConsumerSide {
  explicit ConsumerSide(std::uint32_t slotCount) : holds(slotCount) {}

  LineArray<std::atomic<bool>> holds;
  std::atomic<std::uint64_t> taken{};
  std::atomic<std::uint64_t> skipped{};
  std::atomic<std::uint64_t> underruns{};
};

using ReadyQueue = SlotQueue<ReadyFrame>;
using FreeQueue = SlotQueue<std::uint32_t>;

enum Side : std::uint8_t { Producer = 1, Consumer = 2 };

struct SlotRing::Impl {
  explicit Impl(const SlotRingConfig& config)
      : slotCount(config.slotCount),
        policy(config.policy),
        proof(config.proof),
        completions(config.slotCount),
        producer(config.slotCount),
        consumer(config.slotCount),
        ready(config.slotCount),
        free(config.slotCount) {
    for(std::uint32_t slot = slotCount; slot > 0; --slot)
      giveBack(slot - 1); // the last one first, so that slot 0 is handed out first
  }

  bool closed() const noexcept { return closedSides.load(std::memory_order_acquire) != 0; }
  bool closed(Side side) const noexcept { return (closedSides.load(std::memory_order_acquire) & side) != 0; }
  void close(Side side) noexcept {
    closedSides.fetch_or(side, std::memory_order_release);
    notify();
  }
  void notify() noexcept {
    producerGate.wake();
    consumerGate.wake();
    if(stage)
      stage->gate.wake();
  }
  /// Puts a stage between the two sides, before either uses the ring. It must outlive their use of it.
  void insert(RingStage& between) noexcept { stage = &between; }
  /// Whether the consumer has all that it will ever get of a frame.
  bool ended() const noexcept { return stage ? stage->ended.load(std::memory_order_acquire) : closed(); }
  bool staged(std::uint32_t slot) const noexcept {
    return stage && !stage->slots[slot].direct.load(std::memory_order_relaxed);
  }
  /// What the consumer can read of the slot's frame.
  const Progress& readable(std::uint32_t slot) const noexcept {
    return staged(slot) ? stage->moved[slot] : producer.progress[slot];
  }
  /// Null: nobody looks at the slot's frames.
  FrameProof* proofOf(std::uint32_t slot) const noexcept { return staged(slot) ? stage->proof : proof; }
  /// Where somebody waits for what the producer has.
  WakeGate& arrivals(std::uint32_t slot) noexcept { return staged(slot) ? stage->gate : consumerGate; }

  // Proof of frames: proven_ring.cpp.

  void handOut(std::uint32_t slot) noexcept;
  FrameFault proveHere(std::uint32_t slot, std::size_t bytes) noexcept;
  bool mustGoElsewhere(std::uint32_t slot, std::size_t bytes) noexcept;
  std::uint32_t nextToArm() noexcept;
  void armAhead() noexcept;
  void proveGrown(std::uint32_t slot) noexcept;
  void failOver(FrameFault) noexcept;

  // The producer's side.

  bool producerHolds(std::uint32_t slot) const noexcept { return slot < slotCount && producer.holds[slot]; }
  bool usable(std::uint32_t slot, bool& pending) noexcept {
    if(!readable(slot).whole())
      return false;
    const bool done = completions[slot].done();
    pending |= !done;
    return done;
  }
  void park(std::uint32_t slot) noexcept { producer.parked[producer.parkedCount++] = slot; }
  bool popAhead(std::uint32_t& slot) noexcept;
  bool popFree(std::uint32_t& slot, bool& pending) noexcept;
  bool takeBack(std::uint32_t& slot, bool& pending) noexcept;
  RingStatus acquireNow(std::uint32_t& slot, bool& pending) noexcept;

  // The consumer's side.

  bool consumerHolds(std::uint32_t slot) const noexcept {
    return slot < slotCount && consumer.holds[slot].load(std::memory_order_relaxed);
  }
  void giveBack(std::uint32_t slot) noexcept {
    free.back() = slot;
    free.push();
  }
  bool popNext(Published& frame, bool& pending) noexcept;
  bool popUpTo(ReadyQueue::Position end, Published& frame) noexcept;
  bool popNewest(Published& frame, bool& pending) noexcept;
  FrameFault prove(const Published& frame) noexcept;
  RingStatus takeNow(RingFrame& frame, bool& pending) noexcept;

  // Read by both sides and seldom written.
  const std::uint32_t slotCount;
  const RingPolicy policy;
  FrameProof* const proof;                 ///< Null: frames are not proven.
  std::atomic<std::uint8_t> closedSides{}; ///< Of Side.
  WakeGate producerGate;
  WakeGate consumerGate;
  LineArray<SlotCompletion> completions;
  RingStage* stage{}; ///< Null: the consumer gets what the producer publishes.

  ProducerSide producer;
  ConsumerSide consumer;
  ReadyQueue ready; ///< Under Newest both sides pop; else the consumer does.
  FreeQueue free;
};

inline bool SlotRing::Impl::popAhead(std::uint32_t& slot) noexcept {
  if(producer.aheadCount == 0)
    return false;
  slot = producer.ahead[0];
  producer.ahead[0] = producer.ahead[1];
  --producer.aheadCount;
  return true;
}

/// The slot that was freed last, of those that can be used: caches may still hold it.
inline bool SlotRing::Impl::popFree(std::uint32_t& slot, bool& pending) noexcept {
  while(const std::uint32_t* front = free.front()) {
    park(*front);
    free.pop();
  }
  for(std::uint32_t i = producer.parkedCount; i-- > 0;) {
    slot = producer.parked[i];
    if(!usable(slot, pending))
      continue;
    producer.parked[i] = producer.parked[--producer.parkedCount];
    return true;
  }
  return false;
}

inline bool SlotRing::Impl::takeBack(std::uint32_t& slot, bool& pending) noexcept {
  for(;;) {
    const ReadyQueue::Position head = ready.head();
    if(head == ready.tail())
      return false;
    slot = ready.at(head).slot();
    if(!usable(slot, pending))
      return false;
    if(ready.claim(head)) {
      add(producer.drops, 1);
      return true;
    }
  }
}

inline RingStatus SlotRing::Impl::acquireNow(std::uint32_t& slot, bool& pending) noexcept {
  if(closed())
    return RingStatus::Closed;
  std::uint32_t found{};
  const bool any = popAhead(found) || popFree(found, pending);
  if(!any && !(policy == RingPolicy::Newest && takeBack(found, pending)))
    return RingStatus::Empty;
  if(proof || stage)
    handOut(found);
  producer.holds[found] = true;
  slot = found;
  return RingStatus::Ok;
}

inline bool SlotRing::Impl::popNext(Published& frame, bool& pending) noexcept {
  const ReadyFrame* next = ready.front();
  if(!next)
    return false;
  pending = !completions[next->slot()].done();
  if(pending)
    return false;
  frame = next->load();
  ready.pop();
  return true;
}

/// Takes what lies before `end` off the front, one by one, and keeps the last; false when that was
/// none, or one that is not done. Each is given back only once the next is claimed: the producer may
/// take back those behind it, and then the older one is still better than nothing.
inline bool SlotRing::Impl::popUpTo(ReadyQueue::Position end, Published& frame) noexcept {
  bool found = false;
  std::uint64_t skipped = 0;
  const auto skip = [&] {
    giveBack(frame.slot);
    ++skipped;
  };
  for(ReadyQueue::Position head = ready.head(); head < end; head = ready.head()) {
    const Published oldest = ready.at(head).load();
    if(!ready.claim(head))
      continue;
    if(found)
      skip();
    frame = oldest;
    found = true;
  }
  if(found && !completions[frame.slot].done()) {
    skip();
    found = false;
  }
  if(skipped > 0) {
    add(consumer.skipped, skipped);
    producerGate.signal();
  }
  return found;
}

inline bool SlotRing::Impl::popNewest(Published& frame, bool& pending) noexcept {
  for(;;) {
    pending = false;
    const ReadyQueue::Position head = ready.head();
    ReadyQueue::Position end = ready.tail();
    while(end != head && !completions[ready.at(end - 1).slot()].done()) {
      pending = true;
      --end;
    }
    if(end == head)
      return false;
    if(popUpTo(end, frame))
      return true;
    // The producer took them back, and has published a newer one or will.
  }
}

/// What is wrong with a frame that was just popped. Unless it had to wait for a completion it is checked
/// already, or is being checked.
inline FrameFault SlotRing::Impl::prove(const Published& frame) noexcept {
  if(!proof && !stage)
    return FrameFault::None;
  FrameProof* const looks = proofOf(frame.slot);
  if(!looks || !frame.whole)
    return FrameFault::None;
  return staged(frame.slot) ? looks->finding(frame.slot).fault : proveHere(frame.slot, frame.bytes);
}

inline RingStatus SlotRing::Impl::takeNow(RingFrame& frame, bool& pending) noexcept {
  if(closed(Consumer))
    return RingStatus::Closed;
  const bool last = closed(Producer); // before looking for what it left
  Published found;
  FrameFault fault{};
  for(;;) {
    if(!(policy == RingPolicy::Fifo ? popNext(found, pending) : popNewest(found, pending)))
      return last && !pending ? RingStatus::Closed : RingStatus::Empty;
    fault = prove(found);
    if(fault == FrameFault::None || proofOf(found.slot)->onFault() == FaultPolicy::Report)
      break;
    giveBack(found.slot);
    add(consumer.skipped, 1);
    producerGate.signal();
  }
  frame = {.slot = found.slot,
           .sequence = found.sequence,
           .timestamp = found.timestamp,
           .bytes = found.bytes,
           .bytesReady = found.bytes,
           .fault = fault};
  if(!found.whole)
    frame.bytesReady = readable(found.slot).bytesReady.load(std::memory_order_acquire);
  consumer.holds[found.slot].store(true, std::memory_order_relaxed);
  add(consumer.taken, 1);
  return RingStatus::Ok;
}

namespace core {

/// What the other files of this folder may do with a ring.
struct RingAccess {
  using Impl = SlotRing::Impl;
  static Impl& impl(SlotRing& ring) noexcept { return *ring.m_impl; }
};

} // namespace core
} // namespace rdmagpu
