#include "stream/report.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

std::string messageOf(const FrameProofCounters& proof) {
  const auto failure = faultFailure(proof);
  EXPECT_TRUE(failure);
  EXPECT_EQ(failure ? failure->kind : "", "FrameFault");
  return failure ? failure->message : "";
}

TEST(FaultFailure, IsNoneWhereThereIsNoFault) {
  EXPECT_FALSE(faultFailure({}));
  EXPECT_FALSE(faultFailure(FrameProofCounters{.checked = 10}));
}

TEST(FaultFailure, IsThePeersWhereAnyFaultWasSeen) {
  EXPECT_EQ(messageOf({.stale = 1, .unchecked = 2}),
            "the slots' memory shows that the peer did not write as it said: 1 stale, 2 unchecked");
}

TEST(FaultFailure, IsNotThePeersWhereNothingCouldBeLookedAt) {
  EXPECT_EQ(messageOf({.checked = 3, .unchecked = 2}),
            "the slots could not be looked at, so that nobody knows whether the peer wrote as it said: "
            "2 unchecked");
}

} // namespace
} // namespace rdmagpu::cli
