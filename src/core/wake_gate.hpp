#pragma once
#include <os/wait.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rdmagpu {

/// Where one thread at a time sleeps until others have something for it. Costs the others one load
/// while nobody sleeps.
///
/// The sleeper: arm(), look whether there is something, then wait() or disarm(). The others: make it
/// visible with a sequentially consistent store, then signal(). Both orders are total, so either the
/// sleeper's look (a sequentially consistent load) sees it, or signal() sees that the gate is armed.
class WakeGate {
public:
  void arm() noexcept { m_armed.exchange(1, std::memory_order_seq_cst); }
  void disarm() noexcept { m_armed.store(0, std::memory_order_relaxed); }
  /// Returns when signalled since arm(), after `timeout`, or for no reason; arm() again to go on.
  void wait(std::chrono::nanoseconds timeout) noexcept { os::wait(m_armed, 1, timeout); }

  void signal() noexcept {
    if(m_armed.load(std::memory_order_seq_cst) != 0)
      wake();
  }
  /// The same for news that was made visible by any other means than such a store: reads and
  /// replaces the word in one step, so that arm() comes either before it or sees what came before it.
  void wake() noexcept {
    if(m_armed.exchange(0, std::memory_order_seq_cst) != 0)
      os::wakeAll(m_armed);
  }

private:
  std::atomic<std::uint32_t> m_armed{};
};

} // namespace rdmagpu
