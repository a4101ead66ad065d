#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/peers/detail/deltacast_sdk.hpp>
#include <rdmagpu/peers/detail/deltacast_slots.hpp>
#include <rdmagpu/peers/detail/queued_slots.hpp>
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
  std::uint64_t timeouts{}; ///< So often no slot came back for DeltacastConfig::timeout: no signal, or no
                            ///< reference.
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
        m_config(config),
        m_queue(slots, staged, flow, std::min(queueLimit, staged.ring().slotCount())) {}

  /// Capture: queues every free slot and starts the stream. Playout: the thread does, when there are frames.
  Error prime() noexcept {
    if(m_queue.playsOut())
      return {};
    const Error error = m_queue.queueFirstFree("DeltacastPeer::startCapture");
    return error.kind == Errc::None ? startStream() : error;
  }

  /// After prime() has failed, and the SDK has let go.
  void giveBack() noexcept { m_queue.giveBack(); }

  void loop() noexcept {
    const Error error = m_queue.playsOut() ? playOut() : capture();
    m_queue.close();
    const std::lock_guard lock{m_mutex};
    m_counters.error = error;
    m_counters.finished = true;
  }

  void stop() noexcept {
    if(m_over)
      return;
    m_stopping = true;
    m_queue.close();
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
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t queueLimit = 32; ///< The SDK's.
  static constexpr int drainTimeouts = 10;        ///< In a row: then the card sends no more.

  Error capture() noexcept {
    m_heardAt = Clock::now();
    while(!m_stopping) {
      RingStatus status{};
      if(const Error error = m_queue.queueFree(status); error.kind != Errc::None)
        return error;
      if(status == RingStatus::Closed)
        return {};
      if(m_queue.empty()) {
        bool open = true;
        if(const Error error = m_queue.queueNextFree(open); error.kind != Errc::None || !open)
          return error;
        m_heardAt = Clock::now();
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
    if(const Error error = m_queue.flushPeerWrites(); error.kind != Errc::None)
      return error;
    countLost();
    RingStatus status{};
    const Error error = m_queue.publish(slot, std::chrono::nanoseconds{now}.count(), bytes, status);
    if(status == RingStatus::Ok)
      countFrame();
    open = status != RingStatus::Closed;
    return error;
  }

  Error playOut() noexcept {
    bool more = true;
    if(const Error error = m_queue.queueFirstFrames(m_config.primeFrames, more); error.kind != Errc::None)
      return error;
    if(m_queue.empty() || m_stopping)
      return {};
    if(const Error error = startStream(); error.kind != Errc::None)
      return error;
    m_heardAt = Clock::now();
    for(int idle = 0; !m_stopping;) {
      const bool idled = m_queue.empty(); // then it waits for the application, and not for the card
      if(const Error error = m_queue.queueFrames(more); error.kind != Errc::None)
        return error;
      if(m_queue.empty())
        return {};
      m_heardAt = idled ? Clock::now() : m_heardAt;
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
      m_queue.release(slot);
      countLost();
      countFrame();
    }
    return {};
  }

  Error cameBack(const char* call, HANDLE handle, std::uint32_t& slot) noexcept {
    const std::uint32_t* index = m_slots.indexOf(handle);
    if(!index || !m_queue.takeBack(*index))
      return refusal(call, Refusal::UnknownSlot, m_queue.count(), m_staged.ring().slotCount());
    slot = *index;
    m_heardAt = Clock::now();
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
    for(; m_lost < now; ++m_lost)
      m_queue.countLost();
  }

  void countFrame() noexcept {
    const std::lock_guard lock{m_mutex};
    ++m_counters.frames;
  }

  /// A wait of a millisecond is none yet.
  void countTimeout() noexcept {
    const auto now = Clock::now();
    if(now - m_heardAt < std::chrono::milliseconds{timeoutMs()})
      return;
    m_heardAt = now;
    const std::lock_guard lock{m_mutex};
    ++m_counters.timeouts;
  }

  ULONG timeoutMs() const noexcept {
    return static_cast<ULONG>(std::clamp<std::int64_t>(m_config.timeout.count(), 1, 10'000));
  }

  ULONG waitMs() const noexcept { return m_queue.fewAreQueued() ? 1 : timeoutMs(); }

  DeltacastSlots& m_slots;
  StagedBuffer& m_staged;
  const DeltacastConfig m_config;
  QueuedSlots<DeltacastSlots> m_queue;
  ULONG m_lost{};
  Clock::time_point m_heardAt{};
  std::atomic<bool> m_stopping{};
  std::atomic<bool> m_over{};
  mutable std::mutex m_mutex; ///< Of the counters.
  DeltacastCounters m_counters;
};

} // namespace detail
} // namespace rdmagpu::peers
