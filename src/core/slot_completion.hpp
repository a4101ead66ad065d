#pragma once
#include <core/cache_line.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <atomic>
#include <cstdint>

namespace rdmagpu {

/// The work that a slot waits for before it changes hands. Set by the side that holds the slot.
class alignas(cacheLine) SlotCompletion {
public:
  /// Only when the one before is done.
  void set(RingCompletion completion) noexcept {
    if(!completion.done)
      return;
    m_completion = completion;
    m_state.store(State::Pending, std::memory_order_release);
  }

  /// Under RingPolicy::Newest both sides may ask about the same frame at once; the one that comes
  /// second is told "not yet", so that `done` runs on one thread at a time and never after it
  /// returned true.
  bool done() noexcept { return m_state.load(std::memory_order_acquire) == State::Done || ask(); }

private:
  enum class State : std::uint32_t { Done, Pending, Asking };

  bool ask() noexcept;

  std::atomic<State> m_state{};
  RingCompletion m_completion;
};

} // namespace rdmagpu
