#pragma once
#include <rdmagpu/software_peer.hpp>

#include <chrono>
#include <cstdint>

namespace rdmagpu {

/// When frame `n` is due, counted from frame 0, rounded down to a nanosecond: n * denominator /
/// numerator seconds. Computed anew for each frame, so that no rounding adds up. `rate` is paced.
constexpr std::chrono::nanoseconds frameTime(FrameRate rate, std::uint64_t n) noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  // Whole periods of `numerator` frames first: every product below then fits 64 bits.
  const std::uint64_t periods = n / rate.numerator;
  const std::uint64_t rest = n % rate.numerator * rate.denominator;
  const std::uint64_t seconds = periods * rate.denominator + rest / rate.numerator;
  const std::uint64_t fraction = rest % rate.numerator * second / rate.numerator;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * second + fraction)};
}

} // namespace rdmagpu
