#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace rdmagpu::os {

/// Sleeps while `word` holds `expected`, until wakeAll() on it or for `timeout` at most. May also
/// return early for no reason, so the caller looks again. Only between threads of one process.
void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
          std::chrono::nanoseconds timeout) noexcept;

/// Wakes every thread that sleeps on `word`, of which it uses the address only.
void wakeAll(const std::atomic<std::uint32_t>& word) noexcept;

} // namespace rdmagpu::os
