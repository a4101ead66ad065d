#include "deltacast_fixture.hpp"

#include <algorithm>
#include <thread>

namespace rdmagpu::vhdtest {
namespace {

class DeltacastPlayout : public DeltacastTest, public testing::WithParamInterface<SlotPath> {};

INSTANTIATE_TEST_SUITE_P(, DeltacastPlayout, testing::Values(SlotPath::Direct, SlotPath::Staged),
                         [](const auto& path) { return name(path.param); });

void expectSent(std::uint64_t count) {
  const auto frames = sent();
  ASSERT_EQ(frames.size(), count);
  for(std::uint64_t n = 0; n < count; ++n)
    EXPECT_EQ(numberOf(frames[n]), n);
}

TEST_P(DeltacastPlayout, EveryFrameIsSentOnceAndInOrder) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0);
  ASSERT_TRUE(peer.startPlayout(staged));
  for(std::uint64_t n = 0; n < 30; ++n)
    play(staged, n);
  staged.ring().closeProducer();
  peer.wait();
  expectSent(30);
  EXPECT_EQ(peer.counters().frames, 30U);
  EXPECT_EQ(peer.counters().error.kind, Errc::None) << peer.counters().error.message();
  std::uint32_t slot{};
  EXPECT_EQ(staged.ring().acquire(slot, ample), RingStatus::Closed);
}

TEST_P(DeltacastPlayout, StreamStartsWhenItsQueueIsPrimed) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0, {.primeFrames = 3});
  ASSERT_TRUE(peer.startPlayout(staged));
  play(staged, 0);
  play(staged, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_THAT(calls(), testing::Not(testing::Contains("VHD_StartStream")));
  play(staged, 2);
  staged.ring().closeProducer();
  peer.wait();
  expectSent(3);
  const auto made = calls();
  const auto started = std::find(made.begin(), made.end(), "VHD_StartStream");
  EXPECT_EQ(std::count(made.begin(), started, "VHD_QueueOutSlot"), 3);
}

TEST_P(DeltacastPlayout, FewerFramesThanItIsPrimedWithAreSent) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0, {.primeFrames = 100});
  ASSERT_TRUE(peer.startPlayout(staged));
  play(staged, 0);
  staged.ring().closeProducer();
  peer.wait();
  expectSent(1);
}

TEST_P(DeltacastPlayout, WithoutAFrameTheStreamIsNeverStarted) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0);
  ASSERT_TRUE(peer.startPlayout(staged));
  peer.stop();
  EXPECT_THAT(calls(), testing::Not(testing::Contains("VHD_StartStream")));
  EXPECT_EQ(peer.counters().error.kind, Errc::None) << peer.counters().error.message();
}

TEST_P(DeltacastPlayout, AFrameThatCameTooLateIsAnUnderrun) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0);
  ASSERT_TRUE(peer.startPlayout(staged));
  play(staged, 0);
  play(staged, 1);
  while(peer.counters().frames < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  play(staged, 2);
  staged.ring().closeProducer();
  peer.wait();
  expectSent(3);
  EXPECT_GT(peer.counters().lost, 0U);
  EXPECT_EQ(peer.counters().lost, staged.ring().counters().underruns);
}

TEST_P(DeltacastPlayout, AFrameIsSentWhenItIsWhole) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0, {.primeFrames = 1});
  ASSERT_TRUE(peer.startPlayout(staged));
  std::uint32_t slot{};
  ASSERT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
  const Bytes frame = frameOf(0, frameBytes);
  ASSERT_TRUE(staged.applicationBuffer().upload(slot, std::span{frame}.first(frameBytes / 2)));
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes, frameBytes / 2), RingStatus::Ok);
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  ASSERT_TRUE(
      staged.applicationBuffer().upload(slot, std::span{frame}.subspan(frameBytes / 2), frameBytes / 2));
  ASSERT_EQ(staged.ring().advance(slot, frameBytes), RingStatus::Ok);
  staged.ring().closeProducer();
  peer.wait();
  expectSent(1);
}

TEST_P(DeltacastPlayout, StopEndsAWaitForAFrameInPart) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0, {.primeFrames = 1});
  ASSERT_TRUE(peer.startPlayout(staged));
  std::uint32_t slot{};
  ASSERT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes, 8), RingStatus::Ok);
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  peer.stop();
  EXPECT_TRUE(sent().empty());
}

TEST_F(DeltacastTest, ACardThatSendsNoMoreEndsTheWaitForItsLastFrames) {
  reset({.period = std::chrono::hours{1}});
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct, SlotFlow::Playout));
  DeltacastPeer peer = makePeer(VHD_ST_TX0, {.timeout = std::chrono::milliseconds{2}});
  ASSERT_TRUE(peer.startPlayout(staged));
  play(staged, 0);
  staged.ring().closeProducer();
  peer.wait();
  const Error error = peer.counters().error;
  EXPECT_STREQ(error.call, "VHD_WaitSlotSent");
  EXPECT_STREQ(error.codeName, "VHDERR_TIMEOUT");
}

TEST_F(DeltacastTest, OwnBufferGoesAfterTheStream) {
  DeltacastPeer peer = makePeer(VHD_ST_TX0);
  ASSERT_TRUE(peer.start(hostConfig(SlotPath::Staged, SlotFlow::Playout)));
  ASSERT_NE(peer.buffer(), nullptr);
  for(std::uint64_t n = 0; n < 5; ++n)
    play(*peer.buffer(), n);
  DeltacastPeer moved = std::move(peer); // while it runs
  play(*moved.buffer(), 5);
  moved = makePeer(VHD_ST_TX0);
  EXPECT_EQ(liveSlots(), 0U);
}

} // namespace
} // namespace rdmagpu::vhdtest
