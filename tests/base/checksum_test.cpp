#include <rdmagpu/checksum.hpp>
#include <rdmagpu/poison.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace rdmagpu {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t checksumOf(std::string_view text) { return checksum(std::as_bytes(std::span{text})); }

Bytes poisoned(std::size_t bytes, std::uint64_t seed) {
  Bytes filled(bytes);
  poison(filled, seed);
  return filled;
}

std::uint64_t wordOf(const Bytes& bytes, std::size_t index) {
  std::uint64_t word{};
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

/* Computed with Python:
M = 2**64 - 1; G = 0x9e3779b97f4a7c15
def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
    z = (z ^ z >> 27) * 0x94d049bb133111eb & M
    return z ^ z >> 31
def checksum(b):
    w = [int.from_bytes(b[i:i + 8], 'little') for i in range(0, len(b), 8)]
    return mix(sum(mix(x ^ (i + 1) * G & M) for i, x in enumerate(w)) + (len(b) + 1) * G & M)
def poison(n, seed):
    return b''.join(mix(mix(seed + G & M) + i * G & M).to_bytes(8, 'little') for i in range(n // 8 + 1))[:n]
*/
TEST(Checksum, HasTheValuesThatWereComputedElsewhere) {
  EXPECT_EQ(checksumOf(""), 0xe220a8397b1dcdafU);
  EXPECT_EQ(checksumOf({"\0", 1}), 0xb382a305f4414f5eU);
  EXPECT_EQ(checksumOf("a"), 0x7bc8ee98091bbdd8U);
  EXPECT_EQ(checksumOf({"a\0", 2}), 0x564115e75c176dfbU);
  EXPECT_EQ(checksumOf({"\0\0\0\0\0\0\0\0", 8}), 0x600fb8d528d256a9U);
  Bytes counted(256);
  for(std::size_t i = 0; i < counted.size(); ++i)
    counted[i] = static_cast<std::byte>(i);
  EXPECT_EQ(checksum(counted), 0xa71583fa962f4d77U);
  Bytes longer(4099);
  for(std::size_t i = 0; i < longer.size(); ++i)
    longer[i] = static_cast<std::byte>(i * 7 % 251);
  EXPECT_EQ(checksum(longer), 0x744f61efc1a2ae0bU);
}

TEST(Checksum, FindsEachBitThatFlips) {
  Bytes bytes = poisoned(75, 1);
  std::set<std::uint64_t> seen{checksum(bytes)};
  for(std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_TRUE(seen.insert(checksum(bytes)).second) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
}

TEST(Checksum, FindsWordsThatChangedPlaces) {
  const Bytes bytes = poisoned(1024, 1);
  for(std::size_t other = 8; other < bytes.size(); other += 8) {
    Bytes swapped = bytes;
    std::swap_ranges(swapped.begin(), swapped.begin() + 8,
                     swapped.begin() + static_cast<std::ptrdiff_t>(other));
    EXPECT_NE(checksum(swapped), checksum(bytes)) << other;
  }
}

TEST(Checksum, TellsHowManyZerosThereAre) {
  std::set<std::uint64_t> seen;
  for(std::size_t bytes = 0; bytes < 100; ++bytes)
    EXPECT_TRUE(seen.insert(checksum(Bytes(bytes))).second) << bytes;
}

TEST(Checksum, DoesNotDependOnWhereTheBytesLie) {
  const Bytes bytes = poisoned(100, 1);
  Bytes room(bytes.size() + 8);
  for(std::ptrdiff_t offset = 0; offset < 8; ++offset) {
    std::copy(bytes.begin(), bytes.end(), room.begin() + offset);
    EXPECT_EQ(checksum(std::span{room}.subspan(static_cast<std::size_t>(offset), bytes.size())),
              checksum(bytes));
  }
}

TEST(Poison, HasTheValuesThatWereComputedElsewhere) {
  EXPECT_EQ(wordOf(poisoned(16, 0), 0), 0x48218226ff3cd4bfU);
  EXPECT_EQ(wordOf(poisoned(16, 0), 1), 0xa706dd2f4d197e6fU);
  EXPECT_EQ(wordOf(poisoned(16, 1), 0), 0xdce423fc82c0d5b8U);
  EXPECT_EQ(wordOf(poisoned(16, 1), 1), 0x5e41ab087439611eU);
  EXPECT_EQ(wordOf(poisoned(8, std::numeric_limits<std::uint64_t>::max()), 0), 0x445018e305810b78U);
}

TEST(Poison, ShorterIsTheBeginningOfLonger) {
  const Bytes longer = poisoned(100, 5);
  for(std::size_t bytes = 0; bytes < longer.size(); ++bytes)
    EXPECT_EQ(poisoned(bytes, 5), Bytes(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(bytes)));
}

TEST(Poison, NoTwoWordsAndNoTwoSeedsAreAlike) {
  std::set<Bytes> words;
  constexpr std::size_t size = 4096;
  for(std::uint64_t seed = 0; seed < 4; ++seed) {
    const Bytes bytes = poisoned(size, seed);
    for(auto word = bytes.begin(); word != bytes.end(); word += 8)
      words.emplace(word, word + 8);
  }
  EXPECT_EQ(words.size(), 4 * size / 8);
}

} // namespace
} // namespace rdmagpu
