#include <core/slot_completion.hpp>

namespace rdmagpu {

bool SlotCompletion::ask() noexcept {
  State state = State::Pending;
  if(!m_state.compare_exchange_strong(state, State::Asking, std::memory_order_acquire))
    return state == State::Done;
  const bool done = m_completion.done(m_completion.context);
  m_state.store(done ? State::Done : State::Pending, std::memory_order_release);
  return done;
}

} // namespace rdmagpu
