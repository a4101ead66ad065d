#include "v4l2_fixture.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace rdmagpu::v4l2test {
namespace {

/// An output device, of either kind.
class V4l2Playout : public V4l2Test, public testing::WithParamInterface<std::uint32_t> {
protected:
  void SetUp() override { reset({.capabilities = GetParam()}); }
};
std::string nameOf(const testing::TestParamInfo<std::uint32_t>& info) {
  return info.param == output ? "OnePlane" : "ManyPlanes";
}
INSTANTIATE_TEST_SUITE_P(, V4l2Playout, testing::Values(output, outputMany), nameOf);

TEST_P(V4l2Playout, SendsEveryFrameInOrder) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  for(std::uint64_t n = 0; n < 20; ++n) {
    play(staged, n);
    if(n >= 2) {
      ASSERT_TRUE(complete());
    }
  }
  staged.ring().closeProducer();
  ASSERT_TRUE(complete());
  ASSERT_TRUE(complete());
  const V4l2Counters counters = waitFor(peer);
  EXPECT_EQ(counters.error.kind, Errc::None) << counters.error.message();
  EXPECT_EQ(counters.frames, 20U);
  EXPECT_EQ(counters.timeouts, 0U);
  ASSERT_EQ(sent().size(), 20U);
  for(std::uint64_t n = 0; n < 20; ++n)
    EXPECT_EQ(sent()[n], frameOf(n, frameBytes)) << n;
  EXPECT_EQ(queued().front().field, static_cast<std::uint32_t>(V4L2_FIELD_NONE));
  EXPECT_EQ(queued().front().bytes, frameBytes);
}

TEST_P(V4l2Playout, APauseOfTheApplicationIsNoTimeout) {
  using Clock = std::chrono::steady_clock;
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Config config = pointers(SlotFlow::Playout);
  config.timeout = std::chrono::milliseconds{500};
  config.primeFrames = 1;
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  const auto sent = [&](std::uint64_t n) {
    const auto from = Clock::now();
    play(staged, n);
    EXPECT_TRUE(awaitQueued(1));
    std::this_thread::sleep_for(std::chrono::milliseconds{20}); // the device has it, and the peer looks
    EXPECT_TRUE(complete());
    while(peer.counters().frames <= n)
      std::this_thread::yield();
    return Clock::now() - from < config.timeout;
  };
  bool inTime = sent(0);
  std::this_thread::sleep_for(config.timeout + std::chrono::milliseconds{50});
  inTime = sent(1) && inTime; // on a machine that stops meanwhile it is one
  EXPECT_TRUE(peer.counters().timeouts == 0 || !inTime);
}

TEST_P(V4l2Playout, StartsWhenEnoughFramesAreQueued) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Config config = pointers(SlotFlow::Playout);
  config.primeFrames = 3;
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  play(staged, 1);
  ASSERT_TRUE(awaitQueued(2));
  EXPECT_THAT(ioctls(), Not(testing::Contains("STREAMON")));
  play(staged, 2);
  EXPECT_TRUE(complete()); // which waits for STREAMON
}

TEST_P(V4l2Playout, AShortStreamIsSentAllTheSame) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  staged.ring().closeProducer();
  ASSERT_TRUE(complete());
  EXPECT_EQ(waitFor(peer).frames, 1U);
}

TEST_P(V4l2Playout, WithoutAFrameTheStreamIsNotStarted) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  staged.ring().closeProducer();
  EXPECT_EQ(waitFor(peer).frames, 0U);
  EXPECT_THAT(ioctls(), Not(testing::Contains("STREAMON")));
}

TEST_P(V4l2Playout, ADeviceThatRepeatsItsLastFrameHasSentIt) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Config config = pointers(SlotFlow::Playout);
  config.timeout = std::chrono::milliseconds{20};
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  play(staged, 1);
  staged.ring().closeProducer();
  ASSERT_TRUE(complete());
  const V4l2Counters counters = waitFor(peer);
  EXPECT_EQ(counters.error.kind, Errc::None) << counters.error.message();
  EXPECT_EQ(counters.frames, 2U);
}

TEST_P(V4l2Playout, ADeviceThatSendsNoMoreIsAnError) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Config config = pointers(SlotFlow::Playout);
  config.timeout = std::chrono::milliseconds{1};
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  play(staged, 1);
  staged.ring().closeProducer();
  const V4l2Counters counters = waitFor(peer);
  EXPECT_EQ(counters.error.code, ETIMEDOUT) << counters.error.message();
  EXPECT_EQ(counters.frames, 0U);
}

TEST_P(V4l2Playout, MissedMomentsAreUnderruns) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  play(staged, 1);
  ASSERT_TRUE(complete(0, {.sequence = 0}));
  ASSERT_TRUE(complete(0, {.sequence = 5}));
  play(staged, 2);
  staged.ring().closeProducer();
  ASSERT_TRUE(complete());
  EXPECT_EQ(waitFor(peer).lost, 4U);
  EXPECT_EQ(staged.ring().counters().underruns, 4U);
}

TEST_P(V4l2Playout, AFrameThatWasNotSentRightIsCounted) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  play(staged, 1);
  staged.ring().closeProducer();
  ASSERT_TRUE(complete(0, {.flags = V4L2_BUF_FLAG_ERROR}));
  ASSERT_TRUE(complete());
  const V4l2Counters counters = waitFor(peer);
  EXPECT_EQ(counters.faulty, 1U);
  EXPECT_EQ(counters.frames, 1U);
}

TEST_P(V4l2Playout, AFrameThatTheDriverFindsTooShortEndsTheStream) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0, frameBytes - 1);
  const V4l2Counters counters = waitFor(peer);
  EXPECT_STREQ(counters.error.call, "VIDIOC_QBUF (V4L2_MEMORY_USERPTR)");
  EXPECT_EQ(counters.error.code, EINVAL);
  std::uint32_t slot{};
  EXPECT_EQ(staged.ring().acquire(slot, ample), RingStatus::Closed);
}

TEST_P(V4l2Playout, StopsWhileItWaitsForTheApplication) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  peer.stop();
  std::uint32_t slot{};
  EXPECT_EQ(staged.ring().acquire(slot, ample), RingStatus::Closed);
}

TEST_P(V4l2Playout, StopsWhileTheDeviceHasFrames) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Playout));
  V4l2Peer peer = openPeer(pointers(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(staged));
  play(staged, 0);
  play(staged, 1);
  ASSERT_TRUE(awaitQueued(2));
  peer.stop();
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
}

TEST_P(V4l2Playout, ChoosesAnOutputAndARate) {
  V4l2Config config = pointers(SlotFlow::Playout);
  config.input = 1;
  config.timePerFrame = {1, 50};
  const V4l2Peer peer = openPeer(config);
  EXPECT_EQ(input(), 1);
  EXPECT_EQ(peer.format().timePerFrame.denominator, 50U);
}

} // namespace
} // namespace rdmagpu::v4l2test
