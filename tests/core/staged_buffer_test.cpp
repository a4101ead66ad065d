#include <core/staged_buffer_fixture.hpp>

#include <ctime>

namespace rdmagpu::stagedtest {
namespace {

TEST(StagedBuffer, HostMemoryIsDirectForTheCpu) {
  const StagedBuffer staged = makeStaged(hostConfig({}));
  EXPECT_EQ(staged.facts().path, SlotPath::Direct);
  EXPECT_EQ(staged.facts().reason.kind, Errc::None);
  EXPECT_EQ(staged.facts().sliceBytes, 0U);
  EXPECT_EQ(&staged.peerBuffer(), &staged.applicationBuffer());
}

TEST(StagedBuffer, StagedOnRequestHasTwoMemories) {
  const StagedBuffer staged = makeStaged(hostConfig(SlotPath::Staged));
  EXPECT_EQ(staged.facts().reason.kind, Errc::None) << "it was asked for";
  EXPECT_EQ(staged.facts().sliceBytes, 8192U);
  EXPECT_EQ(staged.facts().peer.api, RdmaGpuApi::HostFallback);
  ASSERT_EQ(staged.peerBuffer().slotCount(), 3U);
  EXPECT_NE(addressBits(staged.handoff(1)), addressBits(staged.applicationBuffer().handoff(1)));
}

TEST(StagedBuffer, DirectWhereThePeerCannotReachIsRefusedWithTheReason) {
  auto config = hostConfig(SlotPath::Direct);
  config.buffer.accepts = {HandoffKind::CudaPointer};
  const auto made = StagedBuffer::make(config);
  ASSERT_FALSE(made);
  expectCode(made.error(), LibraryCode::PeerCannotAddress);
}

TEST(StagedBuffer, ValuesThatTheirTypesDoNotNameAreRefused) {
  auto config = hostConfig({});
  config.flow = SlotFlow{9};
  const auto flow = StagedBuffer::make(config);
  ASSERT_FALSE(flow);
  expectCode(flow.error(), LibraryCode::ValueUnknown);
  const auto path = StagedBuffer::make(hostConfig(SlotPath{9}));
  ASSERT_FALSE(path);
  expectCode(path.error(), LibraryCode::ValueUnknown);
}

TEST(StagedBuffer, PeerThatReachesNeitherIsRefused) {
  auto config = hostConfig({});
  config.buffer.accepts = {HandoffKind::CudaPointer};
  const auto made = StagedBuffer::make(config);
  ASSERT_FALSE(made);
  expectCode(made.error(), LibraryCode::PeerCannotAddress);
}

TEST(StagedBuffer, BadRequestsAreRefused) {
  auto config = hostConfig({});
  config.buffer.slotCount = 0;
  EXPECT_STREQ(StagedBuffer::make(config).error().codeName, "SlotCountZero");
  config = hostConfig({});
  config.companionBytes = ~std::size_t{};
  EXPECT_STREQ(StagedBuffer::make(config).error().codeName, "SizeOverflow");
}

TEST(StagedBuffer, SliceIsMeasuredUnlessGiven) {
  auto config = hostConfig(SlotPath::Staged);
  config.sliceBytes = 0;
  config.buffer.frameBytes = 1'000'000;
  for(const SlotFlow flow : {SlotFlow::Capture, SlotFlow::Playout}) {
    config.flow = flow;
    const std::size_t slice = makeStaged(config).facts().sliceBytes;
    EXPECT_GE(slice, 65536U);
    EXPECT_TRUE(std::has_single_bit(slice) || slice == 1'000'000) << slice;
  }
}

TEST(StagedBuffer, FrameIsReadFromThePeersSlotOnlyOnceItIsPublished) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Staged));
  const std::uint32_t slot = capture(staged, 1);
  const RingFrame frame = takeNext(staged.ring());
  fill(staged, slot, 2, 0, frameBytes);
  EXPECT_TRUE(inApplication(staged, frame) == frameOf(1, frameBytes));
}

TEST(StagedBuffer, FrameLargerThanItsSlotClosesTheRing) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Staged));
  const std::uint32_t slot = acquireNext(staged.ring());
  const std::size_t tooMuch = peerSlot(staged, slot).size() + 1;
  ASSERT_EQ(staged.ring().publish(slot, 0, tooMuch), RingStatus::Ok);
  RingFrame none;
  EXPECT_EQ(staged.ring().take(none, ample), RingStatus::Closed);
  std::uint32_t next{};
  EXPECT_EQ(staged.ring().tryAcquire(next), RingStatus::Closed);
  expectCode(staged.error(), LibraryCode::RangeOutOfSlot);
  EXPECT_EQ(staged.error().slot, static_cast<std::int32_t>(slot));
}

std::int64_t processorTime() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

TEST(StagedBuffer, ThreadSleepsWhileNothingIsOnItsWay) {
  StagedBuffer staged = makeStaged(hostConfig(SlotPath::Staged));
  capture(staged, 1);
  takeNext(staged.ring());
  // A frame that has begun, and whose end is not due, is no reason to poll either.
  const std::uint32_t slot = acquireNext(staged.ring());
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes, 1000), RingStatus::Ok);
  const std::int64_t before = processorTime();
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  EXPECT_LT(processorTime() - before, 100'000'000);
}

} // namespace
} // namespace rdmagpu::stagedtest
