#include <program/left_out.hpp>

#include <gtest/gtest.h>

#include <set>

namespace rdmagpu::testkit {
namespace {

TEST(LeftOut, StarStandsForAnyText) {
  EXPECT_TRUE(matches("cuMemRelease/stale-handle", "cuMemRelease/stale-handle"));
  EXPECT_FALSE(matches("cuMemRelease/stale", "cuMemRelease/stale-handle"));
  EXPECT_TRUE(matches("cuMemsetD8_v2/hole*", "cuMemsetD8_v2/hole-within"));
  EXPECT_TRUE(matches("cuMemsetD8_v2/hole*", "cuMemsetD8_v2/hole"));
  EXPECT_FALSE(matches("cuMemsetD8_v2/hole*", "cuMemcpyHtoD_v2/hole-within"));
  EXPECT_TRUE(matches("cuX/*-huge*", "cuX/plain-huge-pcie"));
  EXPECT_TRUE(matches("cuX/*no-output", "cuX/no-output"));
  EXPECT_FALSE(matches("cuX/*no-output", "cuX/good"));
}

TEST(LeftOut, HoldsWhatOneOfItsPatternsNames) {
  LeftOut leftOut;
  EXPECT_FALSE(leftOut.contains("cuX/good"));
  leftOut.add("cuX/bad*");
  leftOut.add("cuY/good");
  EXPECT_TRUE(leftOut.contains("cuX/bad-size"));
  EXPECT_TRUE(leftOut.contains("cuY/good"));
  EXPECT_FALSE(leftOut.contains("cuX/good"));
}

TEST(LeftOut, DubiousKindsAreNamedOnce) {
  const auto& all = riskyPatterns();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

} // namespace
} // namespace rdmagpu::testkit
