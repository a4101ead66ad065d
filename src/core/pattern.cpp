#include <base/mix.hpp>
#include <core/pattern.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu {

Pattern::Pattern(std::uint64_t seed, std::uint32_t slot, Direction direction) noexcept
    : m_key(mix(mix(seed + goldenStep) + slot * std::uint64_t{2} + (direction == Direction::Read ? 1 : 0))) {}

void Pattern::fill(std::span<std::byte> to, std::size_t offset, std::size_t sent) const noexcept {
  constexpr std::size_t wordBytes = sizeof(std::uint64_t);
  const std::size_t pure = sent > offset ? std::min(sent - offset, to.size()) : 0;
  std::uint64_t counter = m_key + offset / wordBytes * goldenStep;
  for(std::size_t at = 0; at < to.size(); at += wordBytes, counter += goldenStep) {
    const std::uint64_t word = at < pure ? mix(counter) : ~mix(counter);
    std::memcpy(to.data() + at, &word, std::min(wordBytes, to.size() - at));
  }
  // The word in which the poison begins is the pattern's up to there.
  for(std::size_t at = pure; at % wordBytes != 0 && at < to.size(); ++at)
    to[at] = ~to[at];
}

} // namespace rdmagpu
