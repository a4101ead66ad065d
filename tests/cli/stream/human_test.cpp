#include "human.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

TEST(Human, BytesHaveAUnitFromAKibibyteOn) {
  EXPECT_EQ(bytesText(0), "0");
  EXPECT_EQ(bytesText(1023), "1023");
  EXPECT_EQ(bytesText(1536), "1536 (1.5 KiB)");
  EXPECT_EQ(bytesText(33554432), "33554432 (32 MiB)");
  EXPECT_EQ(bytesText(UINT64_MAX), "18446744073709551615 (16 EiB)");
}

TEST(Human, DurationsHaveTheUnitThatFits) {
  EXPECT_EQ(durationText(0), "0 ns");
  EXPECT_EQ(durationText(999), "999 ns");
  EXPECT_EQ(durationText(12'345), "12.3 us");
  EXPECT_EQ(durationText(4'560'000), "4.56 ms");
  EXPECT_EQ(durationText(1'230'000'000), "1.23 s");
}

TEST(Human, FactsStandInOneColumnAlsoWhenTheyHaveSeveralLines) {
  EXPECT_EQ(factLines({{"a", "1"}, {"long", "2\n3"}}), "a     1\nlong  2\n      3\n");
}

TEST(Human, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(columns({{"A", "B"}, {"wide", "x"}}), "A     B\nwide  x\n");
}

} // namespace
} // namespace rdmagpu::cli
