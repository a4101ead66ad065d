#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/peers/detail/deltacast_sdk.hpp>
#include <rdmagpu/peers/detail/deltacast_slots.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rdmagpu::peers {

struct DeltacastConfig {
  ULONG bufferType{VHD_SDI_BT_VIDEO};           ///< The type of which each slot is a buffer.
  ULONG bufferTypeCount{NB_VHD_SDI_BUFFERTYPE}; ///< Of the stream's kind (SDI, DV, ...).
  void* userContext{};                          ///< Passed on as pUserContext of every descriptor.
  std::chrono::milliseconds timeout{100};       ///< Of a wait in the SDK; stop() may take as long.
  std::uint32_t primeFrames{2}; ///< Playout: so many frames are queued before the stream is started, or as
                                ///< many as there are slots.
};

struct DeltacastCounters {
  std::uint64_t frames{}; ///< Published (capture) or sent (playout).
  std::uint64_t lost{};   ///< By the card, as VHD_CORE_SP_SLOTS_DROPPED says. The ring counts them too: as
                        ///< drops (capture; a frame's gap may be a few frames off) or as underruns (playout).
  std::uint64_t timeouts{}; ///< Waits in the SDK that ended without a slot: no signal, or no reference.
  Error error{};            ///< Why it stopped early; kind None otherwise.
  Error lostError{};        ///< Why `lost` is not counted; kind None when it is.
  Error stopError{};        ///< What the SDK said when the stream was stopped.
  bool finished{};          ///< Its thread is at its end.
};

namespace detail {

/// The card's side of a ring while the stream runs. Its loops run on one thread; stop() and counters() may be
/// called by any.
class DeltacastRun {
public:
  DeltacastRun(DeltacastSlots& slots, StagedBuffer& staged, SlotFlow flow, const DeltacastConfig& config)
      : m_slots(slots),
        m_staged(staged),
        m_ring(staged.ring()),
        m_flow(flow),
        m_config(config),
        m_depth(std::min(queueLimit, m_ring.slotCount())) {
    m_held.resize(m_ring.slotCount());
  }

  /// Capture: queues every free slot and starts the stream. Playout: the thread does, when there are frames.
  Error prime() noexcept {
    if(m_flow == SlotFlow::Playout)
      return {};
    RingStatus status{};
    Error error = queueFree(status);
    if(error.kind == Errc::None && m_queued == 0)
      error = refusal("DeltacastPeer::startCapture", Refusal::NoFreeSlot);
    return error.kind == Errc::None ? startStream() : error;
  }

  /// After prime() has failed, and the SDK has let go.
  void giveBack() noexcept {
    for(std::uint32_t slot = 0; slot < m_held.size(); ++slot) {
      if(m_held[slot] && m_flow == SlotFlow::Capture)
        m_ring.abandon(slot);
      m_held[slot] = false;
    }
  }

  void loop() noexcept {
    const Error error = m_flow == SlotFlow::Capture ? capture() : playOut();
    closeRing();
    const std::lock_guard lock{m_mutex};
    m_counters.error = error;
    m_counters.finished = true;
  }

  void stop() noexcept {
    if(m_over)
      return;
    m_stopping = true;
    closeRing();
  }

  /// The loop has ended and the SDK has let go: ring and StagedBuffer are not touched any more.
  void stopped(const Error& error) noexcept {
    m_over = true;
    const std::lock_guard lock{m_mutex};
    m_counters.stopError = error;
  }

  DeltacastCounters counters() const noexcept {
    const std::lock_guard lock{m_mutex};
    return m_counters;
  }

private:
  static constexpr std::uint32_t queueLimit = 32; ///< The SDK's.
  static constexpr int drainTimeouts = 10;        ///< In a row: then the card sends no more.
  static constexpr std::chrono::nanoseconds forever{-1};

  Error capture() noexcept {
    while(!m_stopping) {
      RingStatus status{};
      if(const Error error = queueFree(status); error.kind != Errc::None)
        return error;
      if(status == RingStatus::Closed)
        return {};
      if(m_queued == 0) {
        std::uint32_t slot{};
        if(m_ring.acquire(slot, forever) != RingStatus::Ok)
          return {};
        if(const Error error = queue(slot); error.kind != Errc::None)
          return error;
      }
      HANDLE handle{};
      const ULONG code = VHD_WaitSlotFilled(m_slots.stream(), &handle, waitMs());
      if(code == VHDERR_TIMEOUT) {
        countTimeout();
        continue;
      }
      bool open = true;
      if(const Error error = vhdError("VHD_WaitSlotFilled", code); error.kind != Errc::None)
        return error;
      if(const Error error = publish(handle, open); error.kind != Errc::None || !open)
        return error;
    }
    return {};
  }

  Error publish(HANDLE handle, bool& open) noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::uint32_t slot{};
    std::size_t bytes = 0;
    if(const Error error = cameBack("VHD_WaitSlotFilled", handle, slot); error.kind != Errc::None)
      return error;
    if(const Error error = m_slots.filledBytes(handle, bytes); error.kind != Errc::None)
      return error;
    if(bytes > m_staged.facts().peer.frameBytes)
      return refusal("VHD_GetSlotBuffer", Refusal::SlotsTooSmall, bytes, m_staged.facts().peer.frameBytes);
    if(m_staged.path() == SlotPath::Direct && m_staged.facts().application.writesNeedFlush) {
      if(const auto flushed = m_staged.applicationBuffer().flushPeerWrites(); !flushed)
        return flushed.error();
    }
    countLost();
    switch(m_ring.publish(slot, std::chrono::nanoseconds{now}.count(), bytes)) {
    case RingStatus::Ok:
      m_held[slot] = false;
      countFrame();
      return {};
    case RingStatus::Faulty: // other memory from now on; a card does not send a frame twice
      m_ring.countDrop();
      return queue(slot);
    case RingStatus::Closed:
      open = false;
      return {};
    case RingStatus::Empty:
    case RingStatus::Misuse:
      break;
    }
    return refusal("SlotRing::publish", Refusal::UnknownSlot, slot, m_ring.slotCount());
  }

  Error playOut() noexcept {
    const std::uint32_t first = std::clamp(m_config.primeFrames, 1U, m_depth);
    bool more = true;
    while(more && m_queued < first) {
      if(const Error error = sendNext(forever, more); error.kind != Errc::None)
        return error;
    }
    if(m_queued == 0 || m_stopping)
      return {};
    if(const Error error = startStream(); error.kind != Errc::None)
      return error;
    for(int idle = 0; !m_stopping;) {
      if(const Error error = feed(more); error.kind != Errc::None)
        return error;
      if(m_queued == 0)
        return {};
      HANDLE handle{};
      const ULONG wait = more ? waitMs() : timeoutMs();
      const ULONG code = VHD_WaitSlotSent(m_slots.stream(), &handle, wait);
      const Error error = vhdError("VHD_WaitSlotSent", code);
      if(code == VHDERR_TIMEOUT) {
        countTimeout();
        if(!more && ++idle == drainTimeouts)
          return error;
        continue;
      }
      idle = 0;
      if(error.kind != Errc::None)
        return error;
      std::uint32_t slot{};
      if(const Error unknown = cameBack("VHD_WaitSlotSent", handle, slot); unknown.kind != Errc::None)
        return unknown;
      m_held[slot] = false;
      m_ring.release(slot);
      countLost();
      countFrame();
    }
    return {};
  }

  /// Queues what there is, and waits for a frame only if the card has none.
  Error feed(bool& more) noexcept {
    for(bool had = true; more && had && m_queued < m_depth;) {
      const std::uint32_t before = m_queued;
      const auto timeout = m_queued == 0 ? forever : std::chrono::nanoseconds{0};
      if(const Error error = sendNext(timeout, more); error.kind != Errc::None)
        return error;
      had = m_queued > before;
    }
    return {};
  }

  /// `more` becomes false when no further frame will come.
  Error sendNext(std::chrono::nanoseconds timeout, bool& more) noexcept {
    RingFrame frame;
    const RingStatus status = timeout.count() == 0 ? m_ring.tryTake(frame) : m_ring.take(frame, timeout);
    if(status != RingStatus::Ok) {
      more = status == RingStatus::Empty;
      return {};
    }
    // The card sends all of a slot at a time of its own choosing.
    if(frame.bytesReady < frame.bytes &&
       m_ring.waitBytes(frame.slot, frame.bytes, forever) != RingStatus::Ok) {
      m_ring.release(frame.slot);
      more = false;
      return {};
    }
    return queue(frame.slot);
  }

  /// Every slot that is free; `status` says why there are no more.
  Error queueFree(RingStatus& status) noexcept {
    std::uint32_t slot{};
    status = RingStatus::Ok;
    while(m_queued < m_depth && (status = m_ring.tryAcquire(slot)) == RingStatus::Ok) {
      if(const Error error = queue(slot); error.kind != Errc::None)
        return error;
    }
    return {};
  }

  Error queue(std::uint32_t slot) noexcept {
    m_held[slot] = true;
    const Error error = m_slots.queue(m_staged, slot, m_flow);
    m_queued += error.kind == Errc::None ? 1 : 0;
    return error;
  }

  Error cameBack(const char* call, HANDLE handle, std::uint32_t& slot) noexcept {
    const std::uint32_t* index = m_slots.indexOf(handle);
    if(!index || !m_held[*index] || m_queued == 0)
      return refusal(call, Refusal::UnknownSlot, m_queued, m_ring.slotCount());
    slot = *index;
    --m_queued;
    return {};
  }

  Error startStream() noexcept {
    const Error error = m_slots.start();
    const std::lock_guard lock{m_mutex};
    if(error.kind == Errc::None)
      m_counters.lostError = lostSoFar(m_lost);
    return error;
  }

  Error lostSoFar(ULONG& lost) noexcept {
    const ULONG code = VHD_GetStreamProperty(m_slots.stream(), VHD_CORE_SP_SLOTS_DROPPED, &lost);
    return vhdError("VHD_GetStreamProperty", code);
  }

  void countLost() noexcept {
    ULONG now = 0;
    const Error error = lostSoFar(now);
    const std::lock_guard lock{m_mutex};
    if(m_counters.lostError.kind == Errc::None)
      m_counters.lostError = error;
    if(m_counters.lostError.kind != Errc::None)
      return;
    m_lost = std::min(m_lost, now);
    m_counters.lost += now - m_lost;
    for(; m_lost < now; ++m_lost) {
      if(m_flow == SlotFlow::Capture)
        m_ring.countDrop();
      else
        m_ring.countUnderrun();
    }
  }

  void countFrame() noexcept {
    const std::lock_guard lock{m_mutex};
    ++m_counters.frames;
  }

  void countTimeout() noexcept {
    if(waitMs() != timeoutMs())
      return;
    const std::lock_guard lock{m_mutex};
    ++m_counters.timeouts;
  }

  void closeRing() noexcept {
    if(m_flow == SlotFlow::Capture)
      m_ring.closeProducer();
    else
      m_ring.closeConsumer();
  }

  ULONG timeoutMs() const noexcept {
    return static_cast<ULONG>(std::clamp<std::int64_t>(m_config.timeout.count(), 1, 10'000));
  }

  /// The SDK's waits know nothing of the ring: while the card's queue is short, the ring is looked at often.
  ULONG waitMs() const noexcept { return m_queued < std::min(2U, m_depth) ? 1 : timeoutMs(); }

  DeltacastSlots& m_slots;
  StagedBuffer& m_staged;
  SlotRing& m_ring;
  const SlotFlow m_flow;
  const DeltacastConfig m_config;
  const std::uint32_t m_depth; ///< Slots that may be queued at once.
  std::vector<bool> m_held;    ///< Slots of the ring that this side has.
  std::uint32_t m_queued{};
  ULONG m_lost{};
  std::atomic<bool> m_stopping{};
  std::atomic<bool> m_over{};
  mutable std::mutex m_mutex; ///< Of the counters.
  DeltacastCounters m_counters;
};

} // namespace detail
} // namespace rdmagpu::peers
