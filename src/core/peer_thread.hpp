#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

namespace rdmagpu {

/// Whether the other side of the ring is told that the peer's work has ended.
enum class Ending : bool { Silent, Closed };

/// The thread of a software peer: one at a time, its clock, and what it has counted.
///
/// Every member may be called by any thread; sleepUntil(), count...() and fail() are for the body.
/// Stops and joins on destruction.
class PeerThread {
public:
  using Body = std::function<Ending()>;
  using CloseSide = void (SlotRing::*)() noexcept;

  PeerThread() = default;
  ~PeerThread() { stop(); }
  PeerThread(PeerThread&&) = delete;

  /// Runs `body` on a thread of its own and then closes the peer's side of the ring, unless the body
  /// ends silently. An exception of the body becomes the error in the counters.
  Result<void> start(const char* call, SlotRing& ring, CloseSide close, Body body);
  /// Ends a sleep, closes the peer's side of the ring, which ends every wait for it, and joins.
  void stop() noexcept;
  void wait() noexcept;
  PeerCounters counters() const noexcept;

  /// False when stop() was called before that time.
  bool sleepUntil(std::chrono::steady_clock::time_point) noexcept;
  void countFrame(std::size_t bytes) noexcept;
  void countMiss() noexcept;
  /// The first one counts.
  void fail(const Error&) noexcept;

private:
  void run(const char* call, SlotRing& ring, CloseSide close, const Body& body) noexcept;
  void join(std::unique_lock<std::mutex>&) noexcept;

  mutable std::mutex m_mutex;
  std::condition_variable m_changed;
  std::thread m_thread;
  SlotRing* m_ring{};
  CloseSide m_close{};
  bool m_stopping{};
  PeerCounters m_counters;
};

} // namespace rdmagpu
