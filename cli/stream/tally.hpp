#pragma once
#include "latency.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace rdmagpu::cli {

/// std::chrono::steady_clock in nanoseconds, which the software peer's timestamps are too.
inline std::int64_t steadyNow() noexcept {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// What has come through so far. One thread adds, another may look on.
class Tally {
public:
  struct Totals {
    std::uint64_t frames{};
    std::uint64_t bytes{};
    std::int64_t lastAt{}; ///< When the last frame was consumed.
  };

  /// A frame of so many bytes was made available then, where that is known, and is consumed now.
  void add(std::size_t bytes, std::optional<std::int64_t> availableAt) {
    const std::int64_t now = steadyNow();
    const std::lock_guard lock(m_mutex);
    ++m_totals.frames;
    m_totals.bytes += bytes;
    m_totals.lastAt = now;
    if(availableAt)
      m_latency.add(now - *availableAt);
  }
  Totals totals() const {
    const std::lock_guard lock(m_mutex);
    return m_totals;
  }
  LatencyHistogram latency() const {
    const std::lock_guard lock(m_mutex);
    return m_latency;
  }

private:
  mutable std::mutex m_mutex;
  Totals m_totals;
  LatencyHistogram m_latency;
};

} // namespace rdmagpu::cli
