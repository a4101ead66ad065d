#include <program/random.hpp>

#include <gtest/gtest.h>

#include <set>

namespace rdmagpu::testkit {
namespace {

TEST(Random, NumbersAreThoseOfTheTracesThatExist) {
  Random random{1};
  EXPECT_EQ(random.next(), 0x910A2DEC89025CC1U);
  EXPECT_EQ(random.next(), 0xBEEB8DA1658EEC67U);
}

TEST(Random, EveryChoiceIsMade) {
  Random random{1};
  std::set<int> seen;
  for(int i = 0; i < 200; ++i)
    seen.insert(random.of({1, 2, 3, 4, 5}));
  EXPECT_EQ(seen.size(), 5U);
}

} // namespace
} // namespace rdmagpu::testkit
