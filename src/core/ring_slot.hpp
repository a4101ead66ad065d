#pragma once
#include <core/cache_line.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rdmagpu {

/// What the ring knows of one slot. Written by the side that holds the slot, but for `bytesReady`,
/// which is the producer's, and the completion's state.
struct alignas(cacheLine) RingSlot {
  std::uint64_t sequence{};
  std::int64_t timestamp{};
  std::size_t bytes{};
  std::atomic<std::size_t> bytesReady{};

  /// False while the producer still writes the frame. The producer's to ask.
  bool whole() const noexcept { return bytesReady.load(std::memory_order_relaxed) == bytes; }

  void setCompletion(RingCompletion completion) noexcept {
    if(!completion.done) // the slot came here settled
      return;
    m_completion = completion;
    m_state.store(State::Pending, std::memory_order_release);
  }

  /// True once the completion is done. Under RingPolicy::Newest both sides may ask about the same
  /// frame at once; the one that comes second is told "not yet", so that `done` is called by one
  /// thread at a time and never after it returned true.
  bool settled() noexcept { return m_state.load(std::memory_order_acquire) == State::None || ask(); }

private:
  enum class State : std::uint32_t { None, Pending, Asking };

  bool ask() noexcept {
    State state = State::Pending;
    if(!m_state.compare_exchange_strong(state, State::Asking, std::memory_order_acquire))
      return state == State::None;
    const bool done = m_completion.done(m_completion.context);
    m_state.store(done ? State::None : State::Pending, std::memory_order_release);
    return done;
  }

  std::atomic<State> m_state{};
  RingCompletion m_completion;
};

} // namespace rdmagpu
