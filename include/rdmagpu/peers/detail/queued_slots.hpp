#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmagpu::peers::detail {

/// The slots of a ring that are queued to a device: free ones, which it fills, or frames, which it sends. For
/// one thread at a time, but for close(). Both `Slots`, which queues one with
/// `Error queue(const StagedBuffer&, std::uint32_t slot, SlotFlow, std::size_t bytes)`, and the StagedBuffer
/// outlive it.
template <class Slots>
class QueuedSlots {
public:
  static constexpr std::chrono::nanoseconds forever{-1};

  /// No more than `depth` slots are queued at once.
  QueuedSlots(Slots& slots, StagedBuffer& staged, SlotFlow flow, std::uint32_t depth)
      : m_slots(slots),
        m_staged(staged),
        m_ring(staged.ring()),
        m_flow(flow),
        m_depth(depth),
        m_held(m_ring.slotCount()) {}

  bool playsOut() const noexcept { return m_flow == SlotFlow::Playout; }
  bool empty() const noexcept { return m_queued == 0; }
  std::uint32_t count() const noexcept { return m_queued; }
  /// A wait for the device knows nothing of the ring: while this is so, the ring is looked at often.
  bool fewAreQueued() const noexcept { return m_queued < std::min(2U, m_depth); }

  /// Queues every slot that is free; `status` says why there are no more.
  Error queueFree(RingStatus& status) noexcept {
    std::uint32_t slot{};
    status = RingStatus::Ok;
    while(m_queued < m_depth && (status = m_ring.tryAcquire(slot)) == RingStatus::Ok) {
      if(const Error error = queue(slot, 0); error.kind != Errc::None)
        return error;
    }
    return {};
  }
  /// The same, and at least one, before the device is started.
  Error queueFirstFree(const char* call) noexcept {
    RingStatus status{};
    const Error error = queueFree(status);
    return error.kind == Errc::None && empty() ? refusal(call, Refusal::NoFreeSlot) : error;
  }
  /// Waits until a slot is free. `open` becomes false when none will be.
  Error queueNextFree(bool& open) noexcept {
    std::uint32_t slot{};
    open = m_ring.acquire(slot, forever) == RingStatus::Ok;
    return open ? queue(slot, 0) : Error{};
  }
  /// A slot that came back without a frame.
  Error queueAgain(std::uint32_t slot) noexcept { return queue(slot, 0); }

  /// Waits for as many frames as are to be queued before the device is started.
  Error queueFirstFrames(std::uint32_t wanted, bool& more) noexcept {
    const std::uint32_t first = std::clamp(wanted, 1U, m_depth);
    while(more && m_queued < first) {
      if(const Error error = queueNextFrame(forever, more); error.kind != Errc::None)
        return error;
    }
    return {};
  }
  /// Queues what frames there are, and waits for one only if the device has none. `more` becomes false when
  /// no further frame will come.
  Error queueFrames(bool& more) noexcept {
    for(bool had = true; more && had && m_queued < m_depth;) {
      const std::uint32_t before = m_queued;
      const auto timeout = empty() ? forever : std::chrono::nanoseconds{0};
      if(const Error error = queueNextFrame(timeout, more); error.kind != Errc::None)
        return error;
      had = m_queued > before;
    }
    return {};
  }

  /// The device gives a slot back. False: it has not got it.
  bool takeBack(std::uint32_t slot) noexcept {
    if(!m_held[slot] || m_queued == 0)
      return false;
    --m_queued;
    return true;
  }
  /// It was sent.
  void release(std::uint32_t slot) noexcept {
    m_held[slot] = false;
    m_ring.release(slot);
  }

  Error flushPeerWrites() noexcept {
    if(m_staged.path() != SlotPath::Direct)
      return {};
    const auto flushed = m_staged.applicationBuffer().flushPeerWrites();
    return flushed ? Error{} : flushed.error();
  }
  /// It was filled. `status` is Ok when it was published, Faulty when it was queued again, being other memory
  /// from now on: a device does not send a frame twice.
  Error publish(std::uint32_t slot, std::int64_t timestamp, std::size_t bytes, RingStatus& status) noexcept {
    status = m_ring.publish(slot, timestamp, bytes);
    switch(status) {
    case RingStatus::Ok:
      m_held[slot] = false;
      return {};
    case RingStatus::Faulty:
      m_ring.countDrop();
      return queue(slot, 0);
    case RingStatus::Closed:
      return {};
    case RingStatus::Empty:
    case RingStatus::Misuse:
      break;
    }
    return refusal("SlotRing::publish", Refusal::UnknownSlot, slot, m_ring.slotCount());
  }

  /// A frame that the device has lost, or sent twice.
  void countLost() noexcept {
    if(playsOut())
      m_ring.countUnderrun();
    else
      m_ring.countDrop();
  }

  /// After a start that has failed, when the device has let go.
  void giveBack() noexcept {
    for(std::uint32_t slot = 0; slot < m_held.size(); ++slot) {
      if(m_held[slot] && !playsOut())
        m_ring.abandon(slot);
      m_held[slot] = false;
    }
  }

  /// Closes the device's side of the ring. For any thread.
  void close() noexcept {
    if(playsOut())
      m_ring.closeConsumer();
    else
      m_ring.closeProducer();
  }

private:
  Error queueNextFrame(std::chrono::nanoseconds timeout, bool& more) noexcept {
    RingFrame frame;
    const RingStatus status = timeout.count() == 0 ? m_ring.tryTake(frame) : m_ring.take(frame, timeout);
    if(status != RingStatus::Ok) {
      more = status == RingStatus::Empty;
      return {};
    }
    // The device sends all of a slot at a time of its own choosing.
    if(frame.bytesReady < frame.bytes &&
       m_ring.waitBytes(frame.slot, frame.bytes, forever) != RingStatus::Ok) {
      m_ring.release(frame.slot);
      more = false;
      return {};
    }
    return queue(frame.slot, frame.bytes);
  }

  Error queue(std::uint32_t slot, std::size_t bytes) noexcept {
    m_held[slot] = true;
    const Error error = m_slots.queue(m_staged, slot, m_flow, bytes);
    m_queued += error.kind == Errc::None ? 1 : 0;
    return error;
  }

  Slots& m_slots;
  StagedBuffer& m_staged;
  SlotRing& m_ring;
  const SlotFlow m_flow;
  const std::uint32_t m_depth;
  std::vector<bool> m_held; ///< Slots of the ring that the device's side has.
  std::uint32_t m_queued{};
};

} // namespace rdmagpu::peers::detail
