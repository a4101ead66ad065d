#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace rdmagpu::cli {

/// Counts durations in buckets that are never wider than 1/64 of what they hold, so that any number of
/// frames takes the same memory. Percentiles are the upper ends of their buckets; the maximum is exact.
class LatencyHistogram {
public:
  /// Below zero counts as zero: two clocks' readings may be that close.
  void add(std::int64_t nanoseconds) noexcept;

  std::uint64_t count() const noexcept { return m_count; }
  std::int64_t max() const noexcept { return m_max; }
  /// The duration that `percent` of all do not exceed, by nearest rank; 0 when there are none.
  std::int64_t percentile(double percent) const noexcept;

private:
  static constexpr unsigned subBits = 6;
  static constexpr std::size_t buckets = (64 - subBits) << subBits;
  static std::size_t bucketOf(std::uint64_t value) noexcept;
  static std::uint64_t upperEnd(std::size_t bucket) noexcept;

  std::array<std::uint64_t, buckets> m_buckets{};
  std::uint64_t m_count{};
  std::int64_t m_max{};
};

} // namespace rdmagpu::cli
