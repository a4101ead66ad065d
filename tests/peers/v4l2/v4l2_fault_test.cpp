#include "v4l2_fixture.hpp"

#include <string>
#include <thread>

namespace rdmagpu::v4l2test {
namespace {

struct Call {
  unsigned long request;
  const char* name; ///< As the error has it.
  int code;
};
std::string nameOf(const testing::TestParamInfo<Call>& info) {
  std::string name = info.param.name;
  return name.substr(0, name.find(' ')) + "_" + std::to_string(info.param.code);
}
void expectError(const Error& error, const Call& call) {
  EXPECT_STREQ(error.call, call.name) << error.message();
  EXPECT_EQ(error.origin, Origin::Os);
  EXPECT_EQ(error.code, call.code);
  EXPECT_THAT(error.hints(), Not(IsEmpty())) << error.message();
}

class OpenFails : public V4l2Test, public testing::WithParamInterface<Call> {};
INSTANTIATE_TEST_SUITE_P(, OpenFails,
                         testing::Values(Call{VIDIOC_QUERYCAP, "VIDIOC_QUERYCAP", ENOTTY},
                                         Call{VIDIOC_G_FMT, "VIDIOC_G_FMT", EINVAL},
                                         Call{VIDIOC_S_FMT, "VIDIOC_S_FMT", EBUSY},
                                         Call{VIDIOC_S_FMT, "VIDIOC_S_FMT", EINVAL},
                                         Call{VIDIOC_S_INPUT, "VIDIOC_S_INPUT", EINVAL},
                                         Call{VIDIOC_S_INPUT, "VIDIOC_S_INPUT", EBUSY},
                                         Call{VIDIOC_S_PARM, "VIDIOC_S_PARM", ENOTTY}),
                         nameOf);

TEST_P(OpenFails, AndTheDeviceIsClosed) {
  failCall(GetParam().request, GetParam().code);
  V4l2Config config = pointers();
  config.width = 640;
  config.input = 1;
  config.timePerFrame = {1, 30};
  const auto opened = V4l2Peer::open("/dev/video0", config);
  ASSERT_FALSE(opened);
  expectError(opened.error(), GetParam());
}

class NoDevice : public V4l2Test, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, NoDevice, testing::Values(ENOENT, EACCES, EBUSY, ENODEV, ENXIO));

TEST_P(NoDevice, SaysWhy) {
  failSystemCall("open", GetParam());
  const auto opened = V4l2Peer::open("/dev/video0", pointers());
  ASSERT_FALSE(opened);
  expectError(opened.error(), {0, "open /dev/video*", GetParam()});
}

TEST_F(V4l2Test, APathThatIsNoV4l2DeviceIsRefusedByTheSystem) {
  const auto none = V4l2Peer::open("/nowhere/video0");
  ASSERT_FALSE(none);
  expectError(none.error(), {0, "open /dev/video*", ENOENT});
  const auto null = V4l2Peer::open("/dev/null");
  ASSERT_FALSE(null);
  expectError(null.error(), {0, "VIDIOC_QUERYCAP", ENOTTY});
}

TEST_F(V4l2Test, ADeviceOfTheOtherDirectionIsRefused) {
  reset({.capabilities = output});
  const auto opened = V4l2Peer::open("/dev/video0", pointers());
  ASSERT_FALSE(opened);
  EXPECT_STREQ(opened.error().codeName, "PeerFlow");
  EXPECT_THAT(opened.error().hints(), Not(IsEmpty()));
}

TEST_F(V4l2Test, SoIsOneThatDoesNotStream) {
  reset({.capabilities = V4L2_CAP_VIDEO_CAPTURE});
  EXPECT_STREQ(V4l2Peer::open("/dev/video0", pointers()).error().codeName, "PeerFlow");
}

class StartFails : public V4l2Test, public testing::WithParamInterface<Call> {};
constexpr const char* queueCall = "VIDIOC_QBUF (V4L2_MEMORY_USERPTR)";
constexpr const char* prepareCall = "VIDIOC_PREPARE_BUF (V4L2_MEMORY_USERPTR)";
constexpr const char* requestCall = "VIDIOC_REQBUFS (V4L2_MEMORY_USERPTR)";
INSTANTIATE_TEST_SUITE_P(
    , StartFails,
    testing::Values(Call{VIDIOC_REQBUFS, requestCall, EBUSY}, Call{VIDIOC_REQBUFS, requestCall, EINVAL},
                    Call{VIDIOC_REQBUFS, requestCall, ENOMEM}, Call{VIDIOC_PREPARE_BUF, prepareCall, EINVAL},
                    Call{VIDIOC_PREPARE_BUF, prepareCall, EFAULT},
                    Call{VIDIOC_PREPARE_BUF, prepareCall, ENOMEM}, Call{VIDIOC_QBUF, queueCall, EINVAL},
                    Call{VIDIOC_QBUF, queueCall, EIO}, Call{VIDIOC_STREAMON, "VIDIOC_STREAMON", EBUSY},
                    Call{VIDIOC_STREAMON, "VIDIOC_STREAMON", EIO},
                    Call{VIDIOC_STREAMON, "VIDIOC_STREAMON", EPIPE},
                    Call{VIDIOC_STREAMON, "VIDIOC_STREAMON", ENOLINK},
                    Call{VIDIOC_STREAMON, "VIDIOC_STREAMON", ENOSPC}),
    nameOf);

TEST_P(StartFails, LeavesNothingQueuedAndMayBeTriedAgain) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  failCall(GetParam().request, GetParam().code);
  const auto started = peer.start(staged);
  ASSERT_FALSE(started);
  expectError(started.error(), GetParam());
  ASSERT_TRUE(peer.start(staged));
  for(std::uint64_t n = 0; n < 6; ++n) {
    ASSERT_TRUE(complete(n));
    expectFrame(staged, n);
  }
}

TEST_F(V4l2Test, TheSlotThatWasRefusedIsTold) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  failCall(VIDIOC_PREPARE_BUF, EFAULT, 3);
  EXPECT_EQ(peer.start(staged).error().slot, 2);
}

TEST_F(V4l2Test, ADriverThatCannotPrepareIsAskedByQueueing) {
  reset({.hasPrepare = false});
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  expectFrame(staged, 0);
}

TEST_F(V4l2Test, InterruptedCallsAreMadeAgain) {
  for(const unsigned long request :
      {VIDIOC_QUERYCAP, VIDIOC_REQBUFS, VIDIOC_QBUF, VIDIOC_DQBUF, VIDIOC_STREAMON})
    failCall(request, EINTR, 1, 3);
  failSystemCall("poll", EINTR);
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  expectFrame(staged, 0);
}

TEST_F(V4l2Test, SlotsThatAreTooSmallAreRefusedWithBothSizes) {
  StagedBufferConfig config = hostConfig();
  config.buffer.frameBytes = frameBytes - 1;
  StagedBuffer staged = makeStaged(config);
  V4l2Peer peer = openPeer();
  const auto started = peer.start(staged);
  ASSERT_FALSE(started);
  EXPECT_STREQ(started.error().codeName, "PeerSlotsTooSmall");
  EXPECT_EQ(started.error().bytes, frameBytes);
  EXPECT_EQ(started.error().available, frameBytes - 1);
}

TEST_F(V4l2Test, TooFewSlotsForTheDriverAreRefusedWithBothCounts) {
  reset({.fewestBuffers = 5});
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  const auto started = peer.start(staged);
  ASSERT_FALSE(started);
  EXPECT_STREQ(started.error().codeName, "PeerTooFewSlots");
  EXPECT_EQ(started.error().bytes, 5U);
  EXPECT_EQ(started.error().available, 4U);
}

TEST_F(V4l2Test, ARingWithoutAFreeSlotStartsNothing) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Capture, 1));
  V4l2Peer peer = openPeer();
  std::uint32_t slot{};
  ASSERT_EQ(staged.ring().tryAcquire(slot), RingStatus::Ok);
  EXPECT_STREQ(peer.start(staged).error().codeName, "PeerNoFreeSlot");
  staged.ring().abandon(slot);
  EXPECT_TRUE(peer.start(staged));
}

TEST_F(V4l2Test, WithoutUdmabufHostSlotsGoAsPointersAndTheReasonIsTold) {
  StagedBufferConfig config = hostConfig();
  config.buffer.host.forbidMemfd = true; // so that no machine can export them
  V4l2Config any = pointers();
  any.memory = {};
  V4l2Peer peer = openPeer(any);
  ASSERT_TRUE(peer.start(config));
  EXPECT_EQ(peer.memory(), V4l2Memory::UserPointer);
  EXPECT_STREQ(peer.memoryReason().codeName, "NotMemfd");
  ASSERT_TRUE(complete(0));
  expectFrame(*peer.buffer(), 0);
}

TEST_F(V4l2Test, WhereNeitherWayIsTakenBothReasonsAreTold) {
  reset({.takesDmaBufs = false, .takesPointers = false});
  V4l2Config any = pointers();
  any.memory = {};
  V4l2Peer peer = openPeer(any);
  const auto started = peer.start(hostConfig());
  ASSERT_FALSE(started);
  EXPECT_STREQ(started.error().call, requestCall);
  EXPECT_NE(peer.memoryReason().kind, Errc::None);
}

TEST_F(V4l2Test, ADmaBufThatIsAskedForAndCannotBeHadIsAnError) {
  StagedBufferConfig config = hostConfig();
  config.buffer.host.forbidMemfd = true;
  V4l2Config dmaBuf = pointers();
  dmaBuf.memory = V4l2Memory::DmaBuf;
  V4l2Peer peer = openPeer(dmaBuf);
  EXPECT_STREQ(peer.start(config).error().codeName, "NotMemfd");
}

class StreamFails : public V4l2Test, public testing::WithParamInterface<Call> {};
INSTANTIATE_TEST_SUITE_P(, StreamFails,
                         testing::Values(Call{VIDIOC_DQBUF, "VIDIOC_DQBUF", EIO},
                                         Call{VIDIOC_DQBUF, "VIDIOC_DQBUF", EINVAL},
                                         Call{VIDIOC_QBUF, queueCall, ENOMEM}),
                         nameOf);

TEST_P(StreamFails, AndTheRingIsClosed) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(awaitQueued(4));
  failCall(GetParam().request, GetParam().code);
  ASSERT_TRUE(complete(0));
  if(GetParam().request == VIDIOC_QBUF)
    expectFrame(staged, 0);
  expectError(waitFor(peer).error, GetParam());
  RingFrame frame;
  EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Closed);
  EXPECT_EQ(peer.counters().stopError.kind, Errc::None);
}

TEST_F(V4l2Test, PollThatFailsEndsTheStream) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Config config = pointers();
  config.timeout = std::chrono::milliseconds{1};
  V4l2Peer peer = openPeer(config);
  ASSERT_TRUE(peer.start(staged));
  failSystemCall("poll", ENOMEM);
  const Error error = waitFor(peer).error;
  EXPECT_STREQ(error.call, "poll");
  EXPECT_EQ(error.code, ENOMEM);
}

TEST_F(V4l2Test, AnErrorThatOnlyPollTellsEndsTheStream) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  breakDown();
  const Error error = waitFor(peer).error;
  EXPECT_STREQ(error.call, "poll");
  EXPECT_EQ(error.code, EIO);
  EXPECT_THAT(error.hints(), Not(IsEmpty()));
}

TEST_F(V4l2Test, ADeviceThatIsUnpluggedIsLost) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  expectFrame(staged, 0);
  unplug();
  const V4l2Counters counters = waitFor(peer);
  expectError(counters.error, {0, "VIDIOC_DQBUF", ENODEV});
  EXPECT_EQ(counters.error.kind, Errc::Lost);
  EXPECT_STREQ(counters.stopError.call, "VIDIOC_STREAMOFF");
  EXPECT_FALSE(isOpen()); // which took the slots back
  EXPECT_STREQ(peer.start(staged).error().codeName, "PeerSpent");
}

TEST_F(V4l2Test, SoIsOneWhileTheConsumerHasAllSlots) {
  StagedBuffer staged = makeStaged(hostConfig(SlotFlow::Capture, 1));
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  RingFrame frame;
  ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  unplug();
  staged.ring().release(frame.slot);
  const Error error = waitFor(peer).error;
  expectError(error, {0, queueCall, ENODEV});
  EXPECT_EQ(error.kind, Errc::Lost);
}

TEST_F(V4l2Test, AStreamThatDoesNotStopIsClosedBeforeItsMemoryGoes) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  failCall(VIDIOC_STREAMOFF, EIO);
  peer.stop();
  EXPECT_STREQ(peer.counters().stopError.call, "VIDIOC_STREAMOFF");
  EXPECT_FALSE(isOpen());
}

TEST_F(V4l2Test, MoreBytesThanASlotHasIsAnError) {
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0, {.bytes = frameBytes + 1}));
  const Error error = waitFor(peer).error;
  EXPECT_STREQ(error.codeName, "PeerSlotsTooSmall");
  EXPECT_EQ(error.bytes, frameBytes + 1);
}

TEST_F(V4l2Test, AFrameThatBeginsLaterInItsSlotIsAnError) {
  reset({.capabilities = captureMany, .dataOffset = 128});
  StagedBuffer staged = makeStaged(hostConfig());
  V4l2Peer peer = openPeer();
  ASSERT_TRUE(peer.start(staged));
  ASSERT_TRUE(complete(0));
  const Error error = waitFor(peer).error;
  EXPECT_STREQ(error.codeName, "PeerDataOffset");
  EXPECT_EQ(error.bytes, 128U);
}

TEST_F(V4l2Test, WithoutADriverTheCallsSayPlainly) {
  EXPECT_STREQ(name(V4l2Memory::DmaBuf), "dma-buf");
  EXPECT_STREQ(name(V4l2Memory::UserPointer), "user-pointer");
}

} // namespace
} // namespace rdmagpu::v4l2test
