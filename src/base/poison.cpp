#include <base/mix.hpp>
#include <rdmagpu/poison.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rdmagpu {

static_assert(std::endian::native == std::endian::little);

void poison(std::span<std::byte> bytes, std::uint64_t seed) noexcept {
  const std::uint64_t key = poisonKey(seed);
  std::uint64_t index = 0;
  for(std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t), ++index) {
    const std::uint64_t word = poisonWord(key, index);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

} // namespace rdmagpu
