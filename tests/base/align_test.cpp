#include <base/align.hpp>

#include <gtest/gtest.h>

namespace rdmagpu {
namespace {

constexpr auto most = static_cast<std::size_t>(-1);

TEST(Align, RoundsUpToTheGranule) {
  EXPECT_EQ(roundUp(0, 65536), 0U);
  EXPECT_EQ(roundUp(1, 65536), 65536U);
  EXPECT_EQ(roundUp(65536, 65536), 65536U);
  EXPECT_EQ(roundUp(65537, 65536), 131072U);
  EXPECT_EQ(roundUp(7, 3), 9U);
}

TEST(Align, RoundingPastTheEndIsNothing) {
  EXPECT_EQ(roundUp(most, 65536), std::nullopt);
  EXPECT_EQ(roundUp(most - 65535, 65536), most - 65535);
  EXPECT_EQ(roundUp(most - 65534, 65536), std::nullopt);
}

TEST(Align, ProductsAndSumsAreChecked) {
  EXPECT_EQ(checkedMultiply(0, most), 0U);
  EXPECT_EQ(checkedMultiply(most, 0), 0U);
  EXPECT_EQ(checkedMultiply(most / 2, 2), most - 1);
  EXPECT_EQ(checkedMultiply(most / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checkedAdd(most, 0), most);
  EXPECT_EQ(checkedAdd(most, 1), std::nullopt);
}

} // namespace
} // namespace rdmagpu
