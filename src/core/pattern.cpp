#include <core/pattern.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu {
namespace {

/// SplitMix64's output function (Steele, Lea, Flood 2014): every input bit changes half of the output's.
constexpr std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr std::uint64_t step = 0x9e3779b97f4a7c15; // SplitMix64's: the golden ratio, odd

} // namespace

Pattern::Pattern(std::uint64_t seed, std::uint32_t slot, Direction direction) noexcept
    : m_key(mix(mix(seed + step) + slot * std::uint64_t{2} + (direction == Direction::Read ? 1 : 0))) {}

void Pattern::fill(std::span<std::byte> to, std::size_t offset, std::size_t sent) const noexcept {
  constexpr std::size_t wordBytes = sizeof(std::uint64_t);
  const std::size_t pure = sent > offset ? std::min(sent - offset, to.size()) : 0;
  std::uint64_t counter = m_key + offset / wordBytes * step;
  for(std::size_t at = 0; at < to.size(); at += wordBytes, counter += step) {
    const std::uint64_t word = at < pure ? mix(counter) : ~mix(counter);
    std::memcpy(to.data() + at, &word, std::min(wordBytes, to.size() - at));
  }
  // The word in which the poison begins is the pattern's up to there.
  for(std::size_t at = pure; at % wordBytes != 0 && at < to.size(); ++at)
    to[at] = ~to[at];
}

} // namespace rdmagpu
