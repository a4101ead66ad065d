#pragma once
#include <rdmagpu/c/ring.h>
#include <rdmagpu/slot_ring.hpp>

namespace rdmagpu::capi {

// The two have the same call; that C's does not throw is what its comment asks of it.

inline RingCompletion fromC(const rdmagpu_completion& completion) noexcept {
  return {.context = completion.context, .done = reinterpret_cast<bool (*)(void*) noexcept>(completion.done)};
}

inline rdmagpu_completion toC(const RingCompletion& completion) noexcept {
  return {.context = completion.context, .done = completion.done};
}

} // namespace rdmagpu::capi
