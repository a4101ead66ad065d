#pragma once
#include <cstdint>
#include <numeric>
#include <optional>

namespace rdmagpu::cli {

/// Above this a frame would last less than a microsecond, which no clock here can pace.
inline constexpr std::uint64_t maxRate = 1'000'000;

/// Frames a second as a fraction, in lowest terms; neither part is 0.
struct Rate {
  std::uint32_t numerator{1};
  std::uint32_t denominator{1};

  friend bool operator==(const Rate&, const Rate&) = default;
};

/// Empty when a part is 0 or beyond 32 bits in lowest terms, or when the rate is above maxRate.
constexpr std::optional<Rate> makeRate(std::uint64_t numerator, std::uint64_t denominator) noexcept {
  if(numerator == 0 || denominator == 0)
    return {};
  const std::uint64_t divisor = std::gcd(numerator, denominator);
  numerator /= divisor;
  denominator /= divisor;
  if(numerator > UINT32_MAX || denominator > UINT32_MAX || numerator > maxRate * denominator)
    return {};
  return Rate{static_cast<std::uint32_t>(numerator), static_cast<std::uint32_t>(denominator)};
}

} // namespace rdmagpu::cli
