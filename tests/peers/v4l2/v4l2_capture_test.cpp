#include "v4l2_fixture.hpp"

#include <thread>

namespace rdmagpu::v4l2test {
namespace {

TEST_F(V4l2Test, TakesWhatTheDeviceIsSetTo) {
  const V4l2Peer peer = openPeer();
  EXPECT_EQ(peer.frameBytes(), frameBytes);
  EXPECT_EQ(peer.format().width, 320U);
  EXPECT_EQ(peer.format().height, 180U);
  EXPECT_EQ(peer.format().pixelFormat, static_cast<std::uint32_t>(V4L2_PIX_FMT_UYVY));
  EXPECT_EQ(peer.format().bytesPerLine, 640U);
  EXPECT_EQ(peer.format().timePerFrame.denominator, 25U);
  EXPECT_THAT(ioctls(), Not(testing::Contains("S_FMT")));
}

TEST_F(V4l2Test, AsksForWhatIsWanted) {
  V4l2Config config = pointers();
  config.pixelFormat = V4L2_PIX_FMT_YUYV;
  config.width = 640;
  config.height = 360;
  config.bytesPerLine = 2048;
  config.input = 3;
  config.timePerFrame = {1001, 60000};
  const V4l2Peer peer = openPeer(config);
  EXPECT_EQ(peer.format().width, 640U);
  EXPECT_EQ(peer.format().height, 360U);
  EXPECT_EQ(peer.format().pixelFormat, static_cast<std::uint32_t>(V4L2_PIX_FMT_YUYV));
  EXPECT_EQ(peer.format().timePerFrame.numerator, 1001U);
  EXPECT_EQ(setFormat().fmt.pix.bytesperline, 2048U);
  EXPECT_EQ(setFormat().fmt.pix.sizeimage, 0U);
  EXPECT_EQ(input(), 3);
}

TEST_F(V4l2Test, ASizeThatTheDeviceHasNotIsToldWithTheOneThatItHas) {
  V4l2Config config = pointers();
  config.width = 650;
  const auto opened = V4l2Peer::open("/dev/video0", config);
  ASSERT_FALSE(opened);
  EXPECT_STREQ(opened.error().codeName, "PeerFormat");
  EXPECT_EQ(opened.error().bytes, 650U);
  EXPECT_EQ(opened.error().available, 640U);
  EXPECT_THAT(opened.error().hints(), Not(IsEmpty()));
}

TEST_F(V4l2Test, SoIsAFormat) {
  V4l2Config config = pointers();
  config.pixelFormat = V4L2_PIX_FMT_H264;
  const auto opened = V4l2Peer::open("/dev/video0", config);
  ASSERT_FALSE(opened);
  EXPECT_STREQ(opened.error().codeName, "PeerFormat");
  EXPECT_EQ(opened.error().available, static_cast<std::uint64_t>(V4L2_PIX_FMT_UYVY));
}

TEST_F(V4l2Test, FramesComeInOrderWithTheDevicesTimestamps) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  EXPECT_EQ(peer.memory(), V4l2Memory::UserPointer);
  for(std::uint64_t n = 0; n < 20; ++n) {
    ASSERT_TRUE(complete(n));
    const RingFrame frame = expectFrame(staged, n);
    EXPECT_EQ(frame.sequence, n);
    EXPECT_EQ(frame.bytes, frameBytes);
    EXPECT_EQ(frame.timestamp, static_cast<std::int64_t>(n) * 1'000'000'000 + 5'000'000);
  }
  peer.stop();
  const V4l2Counters counters = peer.counters();
  EXPECT_EQ(counters.frames, 20U);
  EXPECT_EQ(counters.lost, 0U);
  EXPECT_EQ(counters.faulty, 0U);
  EXPECT_EQ(counters.error.kind, Errc::None) << counters.error.message();
  EXPECT_EQ(counters.stopError.kind, Errc::None);
  EXPECT_TRUE(counters.finished);
}

TEST_F(V4l2Test, TimestampsOfAnotherClockAreReplacedByOurs) {
  reset({.monotonic = false});
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(7));
  EXPECT_GE(expectFrame(staged, 7).timestamp, std::chrono::nanoseconds{before}.count());
}

TEST_F(V4l2Test, EachSlotKeepsItsBuffer) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  for(std::uint64_t n = 0; n < 12; ++n) {
    ASSERT_TRUE(complete(n));
    const std::uint32_t slot = expectFrame(staged, n).slot;
    ASSERT_TRUE(awaitQueued(4));
    EXPECT_EQ(queued().back().index, slot);
  }
}

TEST_F(V4l2Test, MultiPlanarDevicesOfOnePlaneWorkTheSame) {
  reset({.capabilities = captureMany});
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Config config = pointers();
  config.width = 640;
  V4l2Peer peer = openPeer(config);
  EXPECT_EQ(peer.frameBytes(), frameBytes);
  EXPECT_EQ(setFormat().fmt.pix_mp.num_planes, 1);
  ASSERT_TRUE(peer.start(staged));
  for(std::uint64_t n = 0; n < 6; ++n) {
    ASSERT_TRUE(complete(n));
    expectFrame(staged, n);
  }
}

TEST_F(V4l2Test, FormatsOfSeveralPlanesAreRefused) {
  reset({.capabilities = captureMany, .planes = 2});
  const auto opened = V4l2Peer::open("/dev/video0", pointers());
  ASSERT_FALSE(opened);
  EXPECT_STREQ(opened.error().codeName, "PeerPlanes");
  EXPECT_EQ(opened.error().bytes, 2U);
}

TEST_F(V4l2Test, FramesThatTheDeviceLostAreDrops) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0, {.sequence = 5})); // where it begins is no loss
  EXPECT_EQ(expectFrame(staged, 0).sequence, 0U);
  ASSERT_TRUE(complete(1, {.sequence = 9}));
  EXPECT_EQ(expectFrame(staged, 1).sequence, 4U);
  peer.stop();
  EXPECT_EQ(peer.counters().lost, 3U);
  EXPECT_EQ(staged.ring().counters().drops, 3U);
}

TEST_F(V4l2Test, ASequenceThatBeginsAnewIsNoLoss) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  std::uint64_t n = 0;
  for(const std::uint32_t sequence : {7U, 7U, 3U, 4U, 0xFFFFFFFFU, 0U, 1U, 0x80000000U}) {
    ASSERT_TRUE(complete(n, {.sequence = sequence}));
    EXPECT_EQ(expectFrame(staged, n).sequence, n);
    ++n;
  }
  peer.stop();
  EXPECT_EQ(peer.counters().lost, 0U);
}

TEST_F(V4l2Test, AFrameThatIsFlaggedAsDamagedIsDroppedAndItsSlotUsedAgain) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  for(int i = 0; i < 9; ++i)
    ASSERT_TRUE(complete(99, {.flags = V4L2_BUF_FLAG_ERROR}));
  ASSERT_TRUE(complete(10));
  EXPECT_EQ(expectFrame(staged, 0).sequence, 0U);
  EXPECT_EQ(expectFrame(staged, 10).sequence, 10U);
  peer.stop();
  EXPECT_EQ(peer.counters().faulty, 9U);
  EXPECT_EQ(peer.counters().lost, 0U);
  EXPECT_EQ(staged.ring().counters().drops, 9U);
}

TEST_F(V4l2Test, SoIsAnEmptyOne) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0, {.bytes = 0}));
  ASSERT_TRUE(complete(1));
  EXPECT_EQ(expectFrame(staged, 1).sequence, 1U);
  EXPECT_EQ(peer.counters().faulty, 1U);
}

TEST_F(V4l2Test, CompressedFramesHaveTheirOwnSizes) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0, {.bytes = 1234}));
  EXPECT_EQ(expectFrame(staged, 0).bytes, 1234U);
}

TEST_F(V4l2Test, AConsumerThatHasEveryFrameLeavesTheDeviceNone) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Capture, 2));
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  for(std::uint64_t n = 0; n < 2; ++n)
    ASSERT_TRUE(complete(n));
  RingFrame first;
  RingFrame second;
  ASSERT_EQ(staged.ring().take(first, ample), RingStatus::Ok);
  ASSERT_EQ(staged.ring().take(second, ample), RingStatus::Ok);
  EXPECT_TRUE(awaitQueued(0));
  staged.ring().release(first.slot);
  EXPECT_TRUE(awaitQueued(1)); // by itself, without a frame
  staged.ring().release(second.slot);
  EXPECT_TRUE(awaitQueued(2));
}

TEST_F(V4l2Test, FewerBuffersThanSlotsServeThemAll) {
  reset({.mostBuffers = 2});
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Capture, 5));
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  for(std::uint64_t n = 0; n < 12; n += 4) {
    for(std::uint64_t i = n; i < n + 4; ++i)
      ASSERT_TRUE(complete(i));
    for(std::uint64_t i = n; i < n + 4; ++i)
      expectFrame(staged, i);
  }
}

TEST_F(V4l2Test, EndsWithTheConsumer) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  expectFrame(staged, 0);
  staged.ring().closeConsumer();
  ASSERT_TRUE(complete(1));
  EXPECT_EQ(waitFor(peer).error.kind, Errc::None);
}

TEST_F(V4l2Test, EndsWithTheStream) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  expectFrame(staged, 0);
  endOfStream();
  EXPECT_EQ(waitFor(peer).error.kind, Errc::None);
  RingFrame frame;
  EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Closed);
}

TEST_F(V4l2Test, StopsAtOnceWhereNoFrameComes) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Config config = pointers();
  config.timeout = std::chrono::seconds{60};
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  const auto before = std::chrono::steady_clock::now();
  peer.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{30});
  EXPECT_EQ(peer.counters().timeouts, 0U);
  peer.stop();
}

TEST_F(V4l2Test, StopsWhereTheConsumerHasEverySlot) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Capture, 1));
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  RingFrame frame;
  ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  ASSERT_TRUE(awaitQueued(0));
  peer.stop();
  EXPECT_TRUE(peer.counters().finished);
}

TEST_F(V4l2Test, CountsHowOftenNothingCame) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Config config = pointers();
  config.timeout = std::chrono::milliseconds{1};
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  while(peer.counters().timeouts < 3)
    std::this_thread::yield();
}

TEST_F(V4l2Test, RunsAgainWithOtherSlots) {
  V4l2Peer peer = openPeer();
  for(std::uint64_t n = 0; n < 3; ++n) {
    StagedBuffer staged = makeStaged(hostConfig());
    ASSERT_TRUE(peer.start(staged));
    ASSERT_TRUE(complete(n));
    expectFrame(staged, n);
    peer.stop();
    EXPECT_EQ(peer.counters().frames, 1U);
  }
}

TEST_F(V4l2Test, StartMakesTheSlotsAsLargeAsTheDriverWants) {
  V4l2Peer peer = openPeer();
  StagedBufferConfig config = hostConfig(SlotFlow::Playout); // the peer knows better
  config.buffer.frameBytes = 1;
  config.path = {};
  ASSERT_TRUE(peer.start(config));
  EXPECT_EQ(peer.buffer()->facts().application.frameBytes, frameBytes);
  ASSERT_TRUE(complete(0));
  expectFrame(*peer.buffer(), 0);
  peer.stop();
  ASSERT_TRUE(peer.start(config)); // again, with a buffer of its own
  ASSERT_TRUE(complete(1));
  expectFrame(*peer.buffer(), 1);
}

TEST_F(V4l2Test, MemoryOutlivesABufferThatGoesWhileItIsQueued) {
  V4l2Peer peer = openPeer();
  {
    StagedBuffer staged = makeStaged(hostConfig());
    ASSERT_TRUE(peer.start(staged));
    ASSERT_TRUE(complete(0));
    expectFrame(staged, 0);
    staged.ring().closeConsumer();
    ASSERT_TRUE(complete(1)); // now its thread ends
    while(!peer.counters().finished)
      std::this_thread::yield();
  }
  EXPECT_TRUE(complete(2)); // into memory of the buffer that is gone
  peer.stop();
}

TEST_F(V4l2Test, GoesWhileItRuns) {
  StagedBuffer staged = makeStaged(hostConfig());
  {
    V4l2Peer peer = openPeer();
    ASSERT_TRUE(peer.start(staged));
    ASSERT_TRUE(complete(0));
    V4l2Peer other = std::move(peer);
    EXPECT_STREQ(peer.start(staged).error().codeName, "PeerSpent"); // NOLINT(bugprone-use-after-move)
    expectFrame(staged, 0);
  }
  RingFrame frame;
  EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Closed);
}

TEST_F(V4l2Test, ASecondStartIsRefusedWhileItRuns) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  EXPECT_STREQ(peer.start(staged).error().codeName, "PeerRunning");
  EXPECT_STREQ(peer.start(hostConfig()).error().codeName, "PeerRunning");
  ASSERT_TRUE(complete(0));
  expectFrame(staged, 0);
}

TEST_F(V4l2Test, ProvesEveryFrame) {
  StagedBufferConfig config = hostConfig();
  config.proof = FrameProofConfig{};
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(config));
  for(std::uint64_t n = 0; n < 6; ++n) {
    ASSERT_TRUE(complete(n));
    expectFrame(*peer.buffer(), n);
  }
  peer.stop();
  EXPECT_EQ(peer.buffer()->proofCounters()->checked, 6U);
  EXPECT_EQ(peer.buffer()->proofCounters()->faults(), 0U);
}

TEST_F(V4l2Test, AFrameThatWasNotWrittenIsADropAndTheNextSlotsAreThoseInReserve) {
  StagedBufferConfig config = hostConfig();
  config.proof = FrameProofConfig{.onFault = FaultPolicy::FailOver};
  V4l2Peer peer = openPeer();
  const auto started = peer.start(config);
  ASSERT_TRUE(started) << started.error().message();
  ASSERT_TRUE(complete(0));
  expectFrame(*peer.buffer(), 0);
  ASSERT_TRUE(complete(1, {.written = false}));
  for(std::uint64_t n = 2; n < 20; ++n) {
    ASSERT_TRUE(complete(n));
    EXPECT_EQ(expectFrame(*peer.buffer(), n).sequence, n);
  }
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
  peer.stop();
  EXPECT_EQ(peer.counters().error.kind, Errc::None) << peer.counters().error.message();
  EXPECT_EQ(peer.buffer()->ring().counters().drops, 1U);
}

} // namespace
} // namespace rdmagpu::v4l2test
