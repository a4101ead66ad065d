#include "latency.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rdmagpu::cli {

// Values below 64 have a bucket each. Above, a value's bucket is its highest bit and the six below that.
std::size_t LatencyHistogram::bucketOf(std::uint64_t value) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if(width <= subBits)
    return static_cast<std::size_t>(value);
  const unsigned shift = width - subBits - 1;
  const std::uint64_t below = (value >> shift) & ((1U << subBits) - 1);
  return (static_cast<std::size_t>(shift + 1) << subBits) + static_cast<std::size_t>(below);
}

std::uint64_t LatencyHistogram::upperEnd(std::size_t bucket) noexcept {
  const std::size_t group = bucket >> subBits;
  if(group == 0)
    return bucket;
  const std::uint64_t value = (std::uint64_t{1} << subBits) + (bucket & ((1U << subBits) - 1));
  return ((value + 1) << (group - 1)) - 1;
}

void LatencyHistogram::add(std::int64_t nanoseconds) noexcept {
  const std::int64_t value = std::max<std::int64_t>(nanoseconds, 0);
  ++m_buckets[bucketOf(static_cast<std::uint64_t>(value))];
  ++m_count;
  m_max = std::max(m_max, value);
}

std::int64_t LatencyHistogram::percentile(double percent) const noexcept {
  const auto rank = static_cast<std::uint64_t>(std::ceil(percent / 100.0 * static_cast<double>(m_count)));
  std::uint64_t seen = 0;
  for(std::size_t bucket = 0; bucket < buckets; ++bucket) {
    seen += m_buckets[bucket];
    if(seen != 0 && seen >= rank)
      return std::min(m_max, static_cast<std::int64_t>(upperEnd(bucket)));
  }
  return m_max;
}

} // namespace rdmagpu::cli
