#include <rdmagpu/peers/support.hpp>

#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rdmagpu::peers {
namespace {

TEST(PeerSupport, EachRefusalHasItsOwnRule) {
  std::set<std::string> rules;
  for(int r = 0; r <= static_cast<int>(Refusal::OutOfMemory); ++r) {
    const Error error = refusal("someCall", static_cast<Refusal>(r), 5, 4);
    EXPECT_EQ(error.origin, Origin::Library);
    EXPECT_STREQ(error.call, "someCall");
    EXPECT_EQ(error.bytes, 5U);
    EXPECT_EQ(error.available, 4U);
    rules.insert(error.codeName);
  }
  EXPECT_EQ(rules.size(), static_cast<std::size_t>(Refusal::OutOfMemory) + 1);
}

TEST(PeerSupport, WhatAnSdkSaysIsNeverNothing) {
  const Error error = peerError("SomePin", -7, "SOME_FULL", Errc::OutOfMemory);
  EXPECT_EQ(error.message(), "SomePin failed: SOME_FULL (-7)");
  EXPECT_EQ(error.kind, Errc::OutOfMemory);
  EXPECT_EQ(error.origin, Origin::Peer);
  EXPECT_EQ(peerError("SomePin", 0, "", Errc::None).kind, Errc::Internal);
}

TEST(PeerSupport, FailuresReachTheLogSink) {
  const test::LogCapture capture;
  reportFailure(refusal("someCall", Refusal::Spent));
  ASSERT_EQ(capture.errors().size(), 1U);
  EXPECT_STREQ(capture.errors().front().codeName, "PeerSpent");
}

TEST(PeerSupport, ARefusalOfRdmaHasHintsWhateverItsCode) {
  for(const std::int64_t code : {2, 4, 31, 99999}) {
    Error error{.kind = Errc::Internal,
                .origin = Origin::VideoMaster,
                .code = code,
                .call = "VHD_CreateSlotEx (RDMAEnabled)"};
    EXPECT_FALSE(error.hints().empty());
    error.call = "VHD_CreateSlotEx";
    EXPECT_TRUE(error.hints().empty());
  }
}

} // namespace
} // namespace rdmagpu::peers
