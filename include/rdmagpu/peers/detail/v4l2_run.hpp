#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/peers/detail/queued_slots.hpp>
#include <rdmagpu/peers/detail/v4l2_device.hpp>
#include <rdmagpu/peers/detail/v4l2_slots.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace rdmagpu::peers {

struct V4l2Counters {
  std::uint64_t frames{};   ///< Published (capture) or sent (playout).
  std::uint64_t lost{};     ///< By the device, as its sequence numbers say: it had no buffer. The ring counts
                            ///< them too: as drops (capture) or as underruns (playout).
  std::uint64_t faulty{};   ///< Frames that the driver flags as damaged (V4L2_BUF_FLAG_ERROR), or that are
                            ///< empty. In capture they are drops.
  std::uint64_t timeouts{}; ///< So often nothing came for V4l2Config::timeout: no signal.
  Error error{};            ///< Why it stopped early; kind None otherwise.
  Error stopError{};        ///< What the driver said when the stream was stopped.
  bool finished{};          ///< Its thread is at its end.
};

namespace detail {

/// Ends a wait for the device.
class V4l2Wake {
public:
  V4l2Wake() noexcept : m_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), m_error(errno) {}
  ~V4l2Wake() {
    if(m_fd >= 0)
      ::close(m_fd);
  }
  V4l2Wake(V4l2Wake&&) = delete;

  Result<void> made() const noexcept { return m_fd >= 0 ? Result<void>{} : systemError("eventfd", m_error); }
  int fd() const noexcept { return m_fd; }
  void wake() noexcept { (void)::eventfd_write(m_fd, 1); }
  void reset() noexcept {
    eventfd_t value{};
    (void)::eventfd_read(m_fd, &value);
  }

private:
  int m_fd;
  int m_error;
};

/// The device's side of a ring while the stream runs. Its loops run on one thread; stop() and counters() may
/// be called by any.
class V4l2Run {
public:
  V4l2Run(V4l2Slots& slots, V4l2Device& device, V4l2Wake& wake, StagedBuffer& staged,
          const V4l2Config& config)
      : m_device(device),
        m_slots(slots),
        m_wake(wake),
        m_staged(staged),
        m_config(config),
        m_queue(slots, staged, config.flow, slots.depth()) {}

  /// Capture: queues every free slot and starts the stream. Playout: the thread does, when there are frames.
  Error prime() noexcept {
    m_wake.reset();
    if(m_device.playsOut())
      return {};
    const Error error = m_queue.queueFirstFree("V4l2Peer::start");
    return error.kind == Errc::None ? m_device.streamOn() : error;
  }

  /// After prime() has failed, and the device has let go.
  void giveBack() noexcept { m_queue.giveBack(); }

  void loop() noexcept {
    const Error error = m_device.playsOut() ? playOut() : capture();
    m_queue.close();
    const std::lock_guard lock{m_mutex};
    m_counters.error = error;
    m_counters.finished = true;
    m_over = true;
  }

  void stop() noexcept {
    if(m_over)
      return;
    m_stopping = true;
    m_queue.close();
    m_wake.wake();
  }

  /// The device has let go.
  void stopped(const Error& error) noexcept {
    const std::lock_guard lock{m_mutex};
    m_counters.stopError = error;
  }

  V4l2Counters counters() const noexcept {
    const std::lock_guard lock{m_mutex};
    return m_counters;
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t mostLost = 1U << 16U; ///< At once. A larger step is a new count.
  static constexpr int drainTimeouts = 10;             ///< In a row: then the device sends no more.

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
      std::optional<V4l2Done> done;
      bool more = true;
      if(const Error error = next(done, more, waitMs()); error.kind != Errc::None || !more)
        return error;
      if(!done) {
        countTimeout(quietTooLong());
        continue;
      }
      if(const Error error = publish(*done, more); error.kind != Errc::None || !more)
        return error;
    }
    return {};
  }

  Error publish(const V4l2Done& done, bool& open) noexcept {
    std::uint32_t slot{};
    if(const Error error = cameBack(done, slot); error.kind != Errc::None)
      return error;
    const std::size_t room = m_staged.facts().peer.frameBytes;
    if(done.faulty || done.bytes == 0) {
      m_queue.countLost();
      return m_queue.queueAgain(slot);
    }
    if(done.bytes > room)
      return refusal("VIDIOC_DQBUF", Refusal::SlotsTooSmall, done.bytes, room);
    if(done.offset != 0)
      return refusal("VIDIOC_DQBUF", Refusal::DataOffset, done.offset);
    if(const Error error = m_queue.flushPeerWrites(); error.kind != Errc::None)
      return error;
    const std::chrono::nanoseconds now = Clock::now().time_since_epoch();
    RingStatus status{};
    const Error error = m_queue.publish(slot, done.timestamp.value_or(now.count()), done.bytes, status);
    if(status == RingStatus::Ok)
      countFrame();
    open = status != RingStatus::Closed;
    return error;
  }

  Error playOut() noexcept {
    bool more = true; // frames to come
    if(const Error error = m_queue.queueFirstFrames(m_config.primeFrames, more); error.kind != Errc::None)
      return error;
    if(m_queue.empty() || m_stopping)
      return {};
    if(const Error error = m_device.streamOn(); error.kind != Errc::None)
      return error;
    m_heardAt = Clock::now();
    for(int idle = 0; !m_stopping;) {
      const bool idled = m_queue.empty(); // then it waits for the application, and not for the device
      if(const Error error = m_queue.queueFrames(more); error.kind != Errc::None)
        return error;
      if(m_queue.empty())
        return {};
      m_heardAt = idled ? Clock::now() : m_heardAt;
      std::optional<V4l2Done> done;
      bool open = true;
      const int wait = more ? waitMs() : timeoutMs();
      if(const Error error = next(done, open, wait); error.kind != Errc::None || !open)
        return error;
      if(!done) {
        const bool quiet = quietTooLong();
        countTimeout(quiet && more);
        if(more || !quiet)
          continue;
        // Many a device repeats its last frame until there is another, and keeps it.
        if(m_queue.count() == 1) {
          countFrame();
          return {};
        }
        if(++idle == drainTimeouts)
          return systemError("poll", ETIMEDOUT);
        continue;
      }
      idle = 0;
      std::uint32_t slot{};
      if(const Error error = cameBack(*done, slot); error.kind != Errc::None)
        return error;
      m_queue.release(slot);
      if(!done->faulty)
        countFrame();
    }
    return {};
  }

  /// Waits for a buffer that comes back; empty after a while without one. `more` is false when none will.
  Error next(std::optional<V4l2Done>& done, bool& more, int wait) noexcept {
    pollfd fds[] = {{m_device.fd(), static_cast<short>(m_device.playsOut() ? POLLOUT : POLLIN), 0},
                    {m_wake.fd(), POLLIN, 0}};
    const int ready = m_device.calls().poll(fds, 2, wait);
    if(ready < 0 && errno != EINTR)
      return systemError("poll", errno);
    if(ready <= 0 || fds[1].revents != 0 || fds[0].revents == 0)
      return {};
    bool ended = false;
    const Error error = m_device.dequeue(done, ended);
    more = !ended;
    // What DQBUF does not tell of poll would tell for ever.
    if(error.kind == Errc::None && !done && more && (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
      return systemError("poll", EIO);
    return error;
  }

  Error cameBack(const V4l2Done& done, std::uint32_t& slot) noexcept {
    const auto had = m_slots.cameBack(done.index);
    if(!had || !m_queue.takeBack(*had))
      return refusal("VIDIOC_DQBUF", Refusal::UnknownSlot, done.index, m_slots.depth());
    slot = *had;
    m_heardAt = Clock::now();
    countLost(done.sequence);
    if(done.faulty || (done.bytes == 0 && !m_device.playsOut())) {
      const std::lock_guard lock{m_mutex};
      ++m_counters.faulty;
    }
    return {};
  }

  /// Sequence numbers that were left out. The same one again, or a lower one, is a new count.
  void countLost(std::uint32_t sequence) noexcept {
    const std::uint32_t step = m_sequence ? sequence - *m_sequence : 1;
    m_sequence = sequence;
    if(step < 2 || step > mostLost)
      return;
    for(std::uint32_t i = 1; i < step; ++i)
      m_queue.countLost();
    const std::lock_guard lock{m_mutex};
    m_counters.lost += step - 1;
  }

  void countFrame() noexcept {
    const std::lock_guard lock{m_mutex};
    ++m_counters.frames;
  }

  bool quietTooLong() noexcept {
    const auto now = Clock::now();
    const bool quiet = now - m_heardAt >= std::chrono::milliseconds{timeoutMs()};
    m_heardAt = quiet ? now : m_heardAt;
    return quiet;
  }
  void countTimeout(bool it) noexcept {
    const std::lock_guard lock{m_mutex};
    m_counters.timeouts += it ? 1 : 0;
  }

  int timeoutMs() const noexcept {
    return static_cast<int>(std::clamp<std::int64_t>(m_config.timeout.count(), 1, 60'000));
  }
  int waitMs() const noexcept { return m_queue.fewAreQueued() ? 1 : timeoutMs(); }

  V4l2Device& m_device;
  V4l2Slots& m_slots;
  V4l2Wake& m_wake;
  StagedBuffer& m_staged;
  const V4l2Config m_config;
  QueuedSlots<V4l2Slots> m_queue;
  std::optional<std::uint32_t> m_sequence;
  Clock::time_point m_heardAt{};
  std::atomic<bool> m_stopping{};
  std::atomic<bool> m_over{}; ///< Ring and StagedBuffer are not touched any more.
  mutable std::mutex m_mutex; ///< Of the counters.
  V4l2Counters m_counters;
};

} // namespace detail
} // namespace rdmagpu::peers
