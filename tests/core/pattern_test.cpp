#include <core/pattern.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace rdmagpu {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t size = 4099; // not a multiple of a word

Bytes made(const Pattern& pattern, std::size_t bytes, std::size_t offset, std::size_t sent) {
  Bytes filled(bytes);
  pattern.fill(filled, offset, sent);
  return filled;
}

TEST(Pattern, PoisonDiffersInEveryByte) {
  const Pattern pattern{1, 0, Direction::Write};
  const Bytes sent = made(pattern, size, 0, size);
  const Bytes poison = made(pattern, size, 0, 0);
  for(std::size_t i = 0; i < size; ++i)
    EXPECT_NE(sent[i], poison[i]) << i;
}

TEST(Pattern, TurnsToPoisonBehindWhatIsSent) {
  const Pattern pattern{1, 0, Direction::Write};
  Bytes expected = made(pattern, 13, 0, 13);
  const Bytes poison = made(pattern, size, 0, 0);
  expected.insert(expected.end(), poison.begin() + 13, poison.end());
  EXPECT_EQ(made(pattern, size, 0, 13), expected);
}

TEST(Pattern, PartsFitTogether) {
  const Pattern pattern{7, 3, Direction::Read};
  const Bytes whole = made(pattern, size, 0, 3000);
  for(const std::size_t offset : {std::size_t{8}, std::size_t{2048}, std::size_t{3000}, std::size_t{4096}})
    EXPECT_EQ(made(pattern, size - offset, offset, 3000),
              Bytes(whole.begin() + static_cast<std::ptrdiff_t>(offset), whole.end()))
        << offset;
}

TEST(Pattern, DiffersForEachSeedSlotAndDirection) {
  const Bytes one = made({1, 0, Direction::Write}, 64, 0, 64);
  EXPECT_EQ(made({1, 0, Direction::Write}, 64, 0, 64), one);
  for(const Pattern& other :
      {Pattern{2, 0, Direction::Write}, Pattern{1, 1, Direction::Write}, Pattern{1, 0, Direction::Read}})
    EXPECT_NE(made(other, 64, 0, 64), one);
}

} // namespace
} // namespace rdmagpu
