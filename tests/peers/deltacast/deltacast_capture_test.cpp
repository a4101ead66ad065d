#include "deltacast_fixture.hpp"

#include <thread>

namespace rdmagpu::vhdtest {
namespace {

class DeltacastCapture : public DeltacastTest, public testing::WithParamInterface<SlotPath> {};

INSTANTIATE_TEST_SUITE_P(, DeltacastCapture, testing::Values(SlotPath::Direct, SlotPath::Staged),
                         [](const auto& path) { return name(path.param); });

TEST_P(DeltacastCapture, FramesOfTheCardReachTheApplication) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam()));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 20);
  peer.stop();
  const DeltacastCounters counters = peer.counters();
  EXPECT_GE(counters.frames, 20U);
  EXPECT_EQ(counters.error.kind, Errc::None) << counters.error.message();
  EXPECT_EQ(counters.stopError.kind, Errc::None) << counters.stopError.message();
  EXPECT_TRUE(counters.finished);
}

TEST_P(DeltacastCapture, SlotsAreQueuedBeforeTheStreamStartsAndGoBeforeTheMemory) {
  {
    StagedBuffer staged = makeStaged(hostConfig(GetParam(), SlotFlow::Capture, 2));
    DeltacastPeer peer = makePeer(VHD_ST_RX0);
    ASSERT_TRUE(peer.startCapture(staged));
    peer.stop();
  }
  EXPECT_THAT(calls(), testing::IsSupersetOf({"VHD_StopStream", "VHD_CloseStreamHandle"}));
  auto made = calls();
  made.resize(11);
  EXPECT_THAT(made, ElementsAre("VHD_OpenStreamHandle", "VHD_InitApplicationBuffers",
                                "VHD_GetApplicationBuffersSize", "VHD_GetApplicationBuffersSize",
                                "VHD_GetApplicationBuffersSize", "VHD_GetApplicationBuffersSize",
                                "VHD_CreateSlotEx", "VHD_CreateSlotEx", "VHD_QueueInSlot", "VHD_QueueInSlot",
                                "VHD_StartStream"));
}

TEST_P(DeltacastCapture, LostFramesAreDropsOfTheRing) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam()));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  RingFrame first;
  ASSERT_EQ(staged.ring().take(first, ample), RingStatus::Ok);
  while(peer.counters().frames < 4) // then the application has all slots
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  staged.ring().release(first.slot);
  expectFrames(staged, 6);
  peer.stop();
  EXPECT_GT(peer.counters().lost, 0U);
  EXPECT_EQ(peer.counters().lost, staged.ring().counters().drops);
  EXPECT_EQ(peer.counters().lostError.kind, Errc::None);
}

TEST_P(DeltacastCapture, EndsWhenTheConsumerDoes) {
  StagedBuffer staged = makeStaged(hostConfig(GetParam()));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 3);
  staged.ring().closeConsumer();
  peer.wait();
  EXPECT_TRUE(peer.counters().finished);
  EXPECT_EQ(peer.counters().error.kind, Errc::None) << peer.counters().error.message();
}

TEST_F(DeltacastTest, NoSignalIsToldWhileTheApplicationHasMostSlots) {
  reset({.frames = 3});
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
  DeltacastPeer peer = makePeer(VHD_ST_RX0, {.timeout = std::chrono::milliseconds{5}});
  ASSERT_TRUE(peer.startCapture(staged));
  RingFrame frame;
  for(int i = 0; i < 3; ++i) // one slot is left
    ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  const std::uint64_t before = peer.counters().timeouts;
  while(peer.counters().timeouts < before + 3 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  EXPECT_GE(peer.counters().timeouts, before + 3);
}

TEST_P(DeltacastCapture, StopEndsAWaitForASignalAndIsIdempotent) {
  reset({.frames = 0});
  StagedBuffer staged = makeStaged(hostConfig(GetParam()));
  DeltacastPeer peer = makePeer(VHD_ST_RX0, {.timeout = std::chrono::milliseconds{5}});
  ASSERT_TRUE(peer.startCapture(staged));
  while(peer.counters().timeouts == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  std::thread other{[&] { peer.stop(); }};
  peer.stop();
  other.join();
  peer.stop();
  RingFrame frame;
  EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Closed);
}

TEST_P(DeltacastCapture, MemoryOutlivesTheBufferWhileTheSdkHasIt) {
  std::optional<StagedBuffer> staged{makeStaged(hostConfig(GetParam()))};
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(*staged));
  expectFrames(*staged, 2);
  ASSERT_EQ(liveSlots(), 4U);
  failCall("VHD_StopStream", VHDERR_OPERATIONFAILED);
  failCall("VHD_DestroySlot", VHDERR_OPERATIONFAILED, 1, 4);
  peer.stop(); // closes the stream
  staged.reset();
  EXPECT_STREQ(peer.counters().stopError.call, "VHD_StopStream");
  EXPECT_EQ(openStreams(), 0U);
}

TEST_P(DeltacastCapture, AFrameThatDidNotComeIsFound) {
  reset({.written = [](std::uint64_t n, std::size_t bytes) {
    return n == 3 ? 0 : n == 5 ? bytes / 2 : bytes;
  }});
  StagedBufferConfig config = hostConfig(GetParam());
  config.proof = FrameProofConfig{.onFault = FaultPolicy::Drop};
  StagedBuffer staged = makeStaged(config);
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 12);
  peer.stop();
  const auto proof = staged.proofCounters();
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->stale, 1U);
  EXPECT_EQ(proof->torn, 1U);
  EXPECT_EQ(proof->faults(), 2U);
}

TEST_F(DeltacastTest, AStreamRunsOnce) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  EXPECT_STREQ(peer.startCapture(staged).error().codeName, "PeerRunning");
  EXPECT_STREQ(peer.start(hostConfig(SlotPath::Direct)).error().codeName, "PeerRunning");
  peer.stop();
  EXPECT_STREQ(peer.startCapture(staged).error().codeName, "PeerSpent");
  EXPECT_FALSE(peer.start(hostConfig(SlotPath::Direct)));
  EXPECT_FALSE(peer.startPlayout(staged).error().hints().empty());
  const DeltacastPeer moved = std::move(peer);
  EXPECT_STREQ(peer.startCapture(staged).error().codeName, "PeerSpent");
  EXPECT_EQ(peer.frameBytes(), 0U);
}

TEST_F(DeltacastTest, FailsOverToTheHostSlotsThatTheSdkHasToo) {
  reset({.written = [](std::uint64_t n, std::size_t bytes) { return n == 4 ? 0 : bytes; }});
  StagedBufferConfig config = hostConfig(SlotPath::Direct);
  config.proof = FrameProofConfig{.onFault = FaultPolicy::FailOver};
  StagedBuffer staged = makeStaged(config);
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  EXPECT_EQ(liveSlots(), 8U);
  expectFrames(staged, 20);
  EXPECT_EQ(staged.path(), SlotPath::Staged);
  peer.stop();
  EXPECT_EQ(peer.counters().error.kind, Errc::None) << peer.counters().error.message();
  EXPECT_GE(staged.ring().counters().drops, 1U);
}

TEST_F(DeltacastTest, MoreSlotsThanTheQueueHoldsAreNotQueuedAtOnce) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct, SlotFlow::Capture, 40));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.startCapture(staged));
  expectFrames(staged, 50);
}

TEST_F(DeltacastTest, BuffersOfOtherTypesLieInTheCompanion) {
  reset({.bufferBytes = {0, 5000, frameBytes, 100}});
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  EXPECT_EQ(peer.frameBytes(), frameBytes);
  EXPECT_EQ(peer.companionBytes(), 8192U + 4096U);
  int context = 0;
  StagedBuffer without = makeStaged(hostConfig(SlotPath::Direct));
  EXPECT_STREQ(peer.startCapture(without).error().codeName, "PeerCompanionsTooSmall");

  DeltacastPeer told = makePeer(VHD_ST_RX0, {.userContext = &context});
  ASSERT_TRUE(told.start(hostConfig(SlotPath::Direct, SlotFlow::Capture, 1)));
  StagedBuffer& staged = *told.buffer();
  RingFrame frame;
  ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  EXPECT_EQ(staged.companion(frame.slot)[4999], std::byte{1});
  EXPECT_EQ(staged.companion(frame.slot)[8192 + 99], std::byte{3});
  const auto descriptors = lastDescriptors();
  EXPECT_EQ(descriptors[VHD_SDI_BT_VIDEO].pBuffer, cpuAddress(staged.handoff(0)));
  EXPECT_EQ(descriptors[VHD_SDI_BT_VIDEO].pUserContext, &context);
  EXPECT_EQ(descriptors[0].pBuffer, nullptr);
  EXPECT_FALSE(descriptors[VHD_SDI_BT_VIDEO].RDMAEnabled);
}

TEST_F(DeltacastTest, SlotsMustHaveRoomForWhatTheSdkTransfers) {
  reset({.bufferBytes = {0, 0, frameBytes + 1, 0}});
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  const auto started = peer.startCapture(staged);
  ASSERT_FALSE(started);
  EXPECT_STREQ(started.error().codeName, "PeerSlotsTooSmall");
  EXPECT_EQ(started.error().bytes, frameBytes + 1);
  EXPECT_EQ(started.error().available, frameBytes);
  EXPECT_TRUE(peer.start(hostConfig(SlotPath::Direct))); // makes them large enough
}

TEST_F(DeltacastTest, ARingWithoutAFreeSlotCannotStart) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Direct));
  std::uint32_t slot{};
  while(staged.ring().tryAcquire(slot) == RingStatus::Ok) {
  }
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  EXPECT_STREQ(peer.startCapture(staged).error().codeName, "PeerNoFreeSlot");
  EXPECT_EQ(liveSlots(), 0U);
}

TEST_F(DeltacastTest, BufferTypeMustBeOneOfThem) {
  HANDLE stream = openStream(VHD_ST_RX0);
  const auto peer = DeltacastPeer::make(stream, {.bufferType = NB_VHD_SDI_BUFFERTYPE});
  ASSERT_FALSE(peer);
  EXPECT_STREQ(peer.error().codeName, "PeerBufferType");
  EXPECT_EQ(VHD_CloseStreamHandle(stream), static_cast<ULONG>(VHDERR_NOERROR)); // still the caller's
}

} // namespace
} // namespace rdmagpu::vhdtest
