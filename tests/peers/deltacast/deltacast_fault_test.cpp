#include "deltacast_fixture.hpp"

#include <support/log_capture.hpp>
#include <support/sanitizer.hpp>

#include <string>
#include <thread>

namespace rdmagpu::vhdtest {
namespace {

constexpr ULONG code = VHDERR_NOTENOUGHRESOURCE;

void expectFailure(const Error& error, const std::string& call) {
  EXPECT_EQ(error.call, call) << error.message();
  EXPECT_EQ(error.origin, Origin::VideoMaster);
  EXPECT_EQ(error.code, static_cast<std::int64_t>(code));
  EXPECT_EQ(error.kind, Errc::OutOfMemory);
  EXPECT_THAT(error.message(), testing::HasSubstr(call + " failed: VHDERR_NOTENOUGHRESOURCE (3)"));
}

class EachCall : public DeltacastTest, public testing::WithParamInterface<std::tuple<SlotPath, std::string>> {
protected:
  SlotPath path() const { return std::get<0>(GetParam()); }
  std::string call() const { return std::get<1>(GetParam()); }
};
std::string nameOf(const testing::TestParamInfo<std::tuple<SlotPath, std::string>>& info) {
  return std::string{name(std::get<0>(info.param))} + "_" + std::get<1>(info.param);
}
const auto paths = testing::Values(SlotPath::Direct, SlotPath::Staged);

class MakeFails : public EachCall {};
INSTANTIATE_TEST_SUITE_P(, MakeFails,
                         testing::Combine(testing::Values(SlotPath::Direct),
                                          testing::Values("VHD_InitApplicationBuffers",
                                                          "VHD_GetApplicationBuffersSize")),
                         nameOf);

TEST_P(MakeFails, AndTheStreamIsStillTheCallers) {
  HANDLE stream = openStream(VHD_ST_RX0);
  failCall(call(), code);
  const auto peer = DeltacastPeer::make(stream);
  ASSERT_FALSE(peer);
  expectFailure(peer.error(), call());
  EXPECT_EQ(VHD_CloseStreamHandle(stream), static_cast<ULONG>(VHDERR_NOERROR));
}

class StartFails : public EachCall {};
INSTANTIATE_TEST_SUITE_P(, StartFails,
                         testing::Combine(paths, testing::Values("VHD_CreateSlotEx", "VHD_QueueInSlot",
                                                                 "VHD_StartStream")),
                         nameOf);

TEST_P(StartFails, LeavesNoSlotAndMayBeTriedAgain) {
  StagedBuffer staged = makeStaged(hostConfig(path()));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  failCall(call(), code, call() == "VHD_StartStream" ? 1 : 3);
  const auto started = peer.startCapture(staged);
  ASSERT_FALSE(started);
  expectFailure(started.error(), call());
  EXPECT_EQ(liveSlots(), 0U);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 6);
}

TEST_P(StartFails, WhereAnIdleStreamKeepsItsSlotsTheStreamIsClosed) {
  reset({.stopsIdleStreams = false});
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  failCall(call(), code, call() == "VHD_StartStream" ? 1 : 3);
  {
    StagedBuffer staged = makeStaged(hostConfig(path()));
    const auto started = peer.startCapture(staged);
    ASSERT_FALSE(started);
    expectFailure(started.error(), call());
    EXPECT_EQ(liveSlots(), 0U);
    const bool queued = call() != "VHD_CreateSlotEx";
    EXPECT_EQ(openStreams(), queued ? 0U : 1U);
    if(queued) {
      EXPECT_STREQ(peer.startCapture(staged).error().codeName, "PeerSpent");
    }
  }
}

class CaptureFails : public EachCall {};
INSTANTIATE_TEST_SUITE_P(, CaptureFails,
                         testing::Combine(paths, testing::Values("VHD_WaitSlotFilled", "VHD_GetSlotBuffer",
                                                                 "VHD_QueueInSlot")),
                         nameOf);

TEST_P(CaptureFails, EndsTheStreamAndSaysWhy) {
  StagedBuffer staged = makeStaged(hostConfig(path()));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 3);
  failCall(call(), code);
  RingFrame frame;
  while(staged.ring().take(frame, ample) == RingStatus::Ok)
    staged.ring().release(frame.slot);
  peer.wait();
  expectFailure(peer.counters().error, call());
  EXPECT_EQ(liveSlots(), 0U);
}

class PlayoutFails : public EachCall {};
INSTANTIATE_TEST_SUITE_P(, PlayoutFails,
                         testing::Combine(paths, testing::Values("VHD_QueueOutSlot", "VHD_StartStream",
                                                                 "VHD_WaitSlotSent")),
                         nameOf);

TEST_P(PlayoutFails, EndsTheStreamAndSaysWhy) {
  StagedBuffer staged = makeStaged(hostConfig(path(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0);
  failCall(call(), code);
  ASSERT_TRUE(peer.startPlayout(staged));
  std::uint32_t slot{};
  while(staged.ring().acquire(slot, ample) == RingStatus::Ok)
    staged.ring().publish(slot, 0, frameBytes);
  peer.wait();
  expectFailure(peer.counters().error, call());
  EXPECT_EQ(liveSlots(), 0U);
}

TEST_F(DeltacastTest, WithoutItsCounterTheStreamRunsOnAndSaysThatNothingIsCounted) {
  failCall("VHD_GetStreamProperty", code, 1, 1000);
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 5);
  peer.stop();
  expectFailure(peer.counters().lostError, "VHD_GetStreamProperty");
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
  EXPECT_EQ(peer.counters().lost, 0U);
}

TEST_F(DeltacastTest, AStreamThatDoesNotStopIsClosed) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  failCall("VHD_StopStream", code);
  peer.stop();
  expectFailure(peer.counters().stopError, "VHD_StopStream");
  EXPECT_EQ(liveSlots(), 0U);
}

TEST_F(DeltacastTest, WhatTheSdkDoesNotLetGoOfIsKeptForGood) {
  if(test::addressSanitizer || test::onValgrind())
    GTEST_SKIP() << "memory is lost on purpose";
  HANDLE stream = openStream(VHD_ST_RX0);
  auto peer = DeltacastPeer::make(stream);
  ASSERT_TRUE(peer);
  {
    StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
    ASSERT_TRUE(peer->startCapture(staged));
    failCall("VHD_StopStream", code);
    failCall("VHD_CloseStreamHandle", code);
    failCall("VHD_DestroySlot", code, 1, 100);
    peer->stop();
  }
  EXPECT_EQ(liveSlots(), 4U);
  EXPECT_EQ(VHD_CloseStreamHandle(stream), static_cast<ULONG>(VHDERR_NOERROR)); // looks at the memory
}

TEST_F(DeltacastTest, AStreamThatDoesNotCloseIsLogged) {
  const test::LogCapture log;
  HANDLE stream = openStream(VHD_ST_RX0);
  {
    auto peer = DeltacastPeer::make(stream);
    ASSERT_TRUE(peer);
    failCall("VHD_CloseStreamHandle", code);
  }
  EXPECT_EQ(openStreams(), 1U);
  ASSERT_EQ(log.errors().size(), 1U);
  expectFailure(log.errors().front(), "VHD_CloseStreamHandle");
  EXPECT_EQ(VHD_CloseStreamHandle(stream), static_cast<ULONG>(VHDERR_NOERROR));
}

TEST_F(DeltacastTest, CodesThatAreNotKnownKeepTheirNumber) {
  HANDLE stream = openStream(VHD_ST_RX0);
  failCall("VHD_InitApplicationBuffers", 7777);
  const auto peer = DeltacastPeer::make(stream);
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().kind, Errc::Internal);
  EXPECT_EQ(peer.error().message(), "VHD_InitApplicationBuffers failed: VideoMaster (7777)");
  VHD_CloseStreamHandle(stream);
}

} // namespace
} // namespace rdmagpu::vhdtest
