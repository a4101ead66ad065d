#include "latency.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace rdmagpu::cli {
namespace {

TEST(LatencyHistogram, IsZeroWhenEmpty) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.percentile(50), 0);
  EXPECT_EQ(histogram.max(), 0);
}

TEST(LatencyHistogram, PercentilesOfSmallDurationsAreExact) {
  LatencyHistogram histogram;
  for(std::int64_t i = 1; i <= 50; ++i)
    histogram.add(i);
  EXPECT_EQ(histogram.percentile(50), 25);
  EXPECT_EQ(histogram.percentile(99), 50);
  EXPECT_EQ(histogram.percentile(100), 50);
  EXPECT_EQ(histogram.percentile(0), 1);
}

TEST(LatencyHistogram, NoDurationIsOffByMoreThanOneIn64) {
  for(std::int64_t value = 1; value < std::int64_t{1} << 60; value = value * 3 + 1) {
    LatencyHistogram histogram;
    histogram.add(value);
    histogram.add(std::numeric_limits<std::int64_t>::max());
    EXPECT_GE(histogram.percentile(50), value);
    EXPECT_LE(histogram.percentile(50) - value, value / 64);
  }
}

TEST(LatencyHistogram, TheMaximumIsExactAndNoPercentileIsAboveIt) {
  LatencyHistogram histogram;
  histogram.add(1'000'001);
  EXPECT_EQ(histogram.max(), 1'000'001);
  EXPECT_EQ(histogram.percentile(99), 1'000'001);
}

TEST(LatencyHistogram, TheLongestDurationHasABucket) {
  LatencyHistogram histogram;
  histogram.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.percentile(50), std::numeric_limits<std::int64_t>::max());
}

TEST(LatencyHistogram, BelowZeroCountsAsZero) {
  LatencyHistogram histogram;
  histogram.add(-5);
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.percentile(50), 0);
}

} // namespace
} // namespace rdmagpu::cli
