#pragma once
#include <os/wait.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace rdmagpu {

/// Where one thread at a time sleeps until others have something for it.
///
/// The sleeper: arm(), look whether there is something, then wait() or disarm(). The others: make it
/// visible with a release store, then signal(). Both sides exchange the same word, so one comes first:
/// either arm() comes second, and the look sees the store, or signal() does, and sees the sleeper.
///
/// An exchange costs several times as much as all the rest of a hand-over, so signal() leaves it out
/// until somebody has slept here: in a ring whose sides only poll it is one load of a shared line.
class WakeGate {
public:
  void arm() noexcept {
    if(!m_used.load(std::memory_order_relaxed)) {
      m_used.store(true, std::memory_order_relaxed);
      m_knownFrom = Clock::now() + settleTime;
    }
    m_armed.exchange(1, std::memory_order_acq_rel);
  }
  void disarm() noexcept { m_armed.store(0, std::memory_order_relaxed); }

  /// Returns when signalled since arm(), after `timeout`, or for no reason; arm() again to go on.
  void wait(std::chrono::nanoseconds timeout) noexcept {
    // A thread that looked at m_used just before it was set has not signalled, and its store may not
    // have been visible yet. So the first sleeps are short: by their end it is.
    const bool known = Clock::now() >= m_knownFrom;
    os::wait(m_armed, 1, known ? timeout : std::min(timeout, settleTime));
  }

  void signal() noexcept {
    if(m_used.load(std::memory_order_relaxed))
      wake();
  }
  /// The same without a look at whether somebody ever slept here.
  void wake() noexcept {
    if(m_armed.exchange(0, std::memory_order_acq_rel) != 0)
      os::wakeAll(m_armed);
  }

private:
  using Clock = std::chrono::steady_clock;
  /// Far longer than a processor keeps a store to itself.
  static constexpr std::chrono::nanoseconds settleTime = std::chrono::milliseconds{1};

  std::atomic<std::uint32_t> m_armed{};
  std::atomic<bool> m_used{};
  Clock::time_point m_knownFrom{}; ///< The sleeper's.
};

} // namespace rdmagpu
