#pragma once
#include <cstddef>
#include <optional>

namespace rdmagpu {

/// The GPU page that NVIDIA's peer-to-peer interface pins, and so the granularity at which slots
/// are kept apart: a peer that pins one slot must not reach its neighbour.
inline constexpr std::size_t gpuPageBytes = 64 * 1024;

constexpr bool isPowerOfTwo(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

/// `n` rounded up to a multiple of `granule`, which must not be 0; nullopt when it overflows.
constexpr std::optional<std::size_t> roundUp(std::size_t n, std::size_t granule) noexcept {
  const std::size_t rest = n % granule;
  if(rest == 0)
    return n;
  const std::size_t sum = n + (granule - rest);
  return sum < n ? std::nullopt : std::optional{sum};
}

constexpr std::optional<std::size_t> checkedMultiply(std::size_t a, std::size_t b) noexcept {
  if(a != 0 && b > static_cast<std::size_t>(-1) / a)
    return std::nullopt;
  return a * b;
}

constexpr std::optional<std::size_t> checkedAdd(std::size_t a, std::size_t b) noexcept {
  return a + b < a ? std::nullopt : std::optional{a + b};
}

} // namespace rdmagpu
