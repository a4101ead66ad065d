#include <base/mix.hpp>
#include <rdmagpu/checksum.hpp>

#include <bit>
#include <cstring>

namespace rdmagpu {

static_assert(std::endian::native == std::endian::little);

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t wordBytes = sizeof(std::uint64_t);
  const std::size_t whole = bytes.size() / wordBytes;
  std::uint64_t sum = 0;
  for(std::size_t i = 0; i < whole; ++i) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i * wordBytes, wordBytes);
    sum += checksumTerm(word, i);
  }
  if(const auto rest = bytes.subspan(whole * wordBytes); !rest.empty()) {
    std::uint64_t word = 0;
    std::memcpy(&word, rest.data(), rest.size());
    sum += checksumTerm(word, whole);
  }
  return checksumOf(sum, bytes.size());
}

} // namespace rdmagpu
