// One program, whatever the path: every test here runs on both.
#include <core/staged_buffer_fixture.hpp>

namespace rdmagpu::stagedtest {
namespace {

class StagedPath : public testing::TestWithParam<SlotPath> {
protected:
  static StagedBuffer make(SlotFlow flow = SlotFlow::Capture, RingPolicy policy = RingPolicy::Fifo,
                           std::uint32_t slots = 3) {
    auto config = hostConfig(GetParam(), flow);
    config.policy = policy;
    config.buffer.slotCount = slots;
    StagedBuffer staged = makeStaged(config);
    EXPECT_EQ(staged.facts().path, GetParam());
    return staged;
  }
};

INSTANTIATE_TEST_SUITE_P(Host, StagedPath, testing::Values(SlotPath::Direct, SlotPath::Staged),
                         [](const auto& tested) {
                           return tested.param == SlotPath::Direct ? "Direct" : "Staged";
                         });

TEST_P(StagedPath, CapturedFramesArriveInOrder) {
  StagedBuffer staged = make();
  SlotRing& ring = staged.ring();
  for(const std::size_t sliceBytes : {std::size_t{}, std::size_t{7001}}) {
    StagedBuffer fresh = make();
    SoftwarePeer peer = makePeer(fresh.peerBuffer(), {.sliceBytes = sliceBytes});
    Frames frames{20, frameBytes};
    ASSERT_TRUE(peer.startCapture(fresh.ring(), frames));
    for(std::uint64_t n = 0; n < 20; ++n) {
      const RingFrame frame = takeNext(fresh.ring());
      ASSERT_EQ(fresh.ring().waitBytes(frame.slot, frame.bytes, ample), RingStatus::Ok);
      EXPECT_EQ(frame.sequence, n);
      EXPECT_TRUE(inApplication(fresh, frame) == frameOf(n, frameBytes));
      EXPECT_EQ(fresh.ring().release(frame.slot), RingStatus::Ok);
    }
    RingFrame none;
    EXPECT_EQ(fresh.ring().take(none, ample), RingStatus::Closed);
    peer.wait();
    EXPECT_EQ(fresh.ring().counters().taken, 20U);
    EXPECT_EQ(fresh.ring().counters().drops, 0U);
  }
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
}

TEST_P(StagedPath, FramesToPlayOutReachThePeerInOrder) {
  StagedBuffer staged = make(SlotFlow::Playout);
  SoftwarePeer peer = makePeer(staged.peerBuffer());
  Collector sink;
  ASSERT_TRUE(peer.startPlayout(staged.ring(), sink));
  for(std::uint64_t n = 0; n < 20; ++n)
    produce(staged.ring(), staged.applicationBuffer(), n, frameBytes);
  staged.ring().closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 20U);
  for(std::uint64_t n = 0; n < 20; ++n)
    EXPECT_TRUE(sink.got[n].sequence == n && sink.got[n].bytes == frameOf(n, frameBytes)) << n;
}

TEST_P(StagedPath, FrameKeepsItsSlotSequenceAndTimestamp) {
  StagedBuffer staged = make();
  staged.ring().countDrop();
  const std::uint32_t slot = capture(staged, 77);
  const RingFrame frame = takeNext(staged.ring());
  EXPECT_EQ(frame.slot, slot);
  EXPECT_EQ(frame.sequence, 1U);
  EXPECT_EQ(frame.timestamp, 77);
  EXPECT_EQ(frame.bytes, frameBytes);
  EXPECT_EQ(frame.bytesReady, frameBytes);
}

TEST_P(StagedPath, FrameOfNothingPasses) {
  StagedBuffer staged = make();
  const std::uint32_t slot = acquireNext(staged.ring());
  ASSERT_EQ(staged.ring().publish(slot, 5, 0), RingStatus::Ok);
  EXPECT_EQ(takeNext(staged.ring()).timestamp, 5);
}

TEST_P(StagedPath, FrameCanBeReadWhileItGrows) {
  StagedBuffer staged = make();
  SlotRing& ring = staged.ring();
  const std::uint32_t slot = acquireNext(ring);
  constexpr std::size_t half = 49'152; // pages, and slices
  fill(staged, slot, 3, 0, half);
  ASSERT_EQ(ring.publish(slot, 0, frameBytes, half), RingStatus::Ok);
  const RingFrame frame = takeNext(ring);
  EXPECT_LT(frame.bytesReady, frameBytes);
  ASSERT_EQ(ring.waitBytes(slot, half, ample), RingStatus::Ok);
  EXPECT_EQ(ring.bytesReady(slot), half);
  EXPECT_TRUE(inSlot(staged.applicationBuffer(), slot, half) == part(frameOf(3, frameBytes), 0, half));
  fill(staged, slot, 3, half, frameBytes);
  ASSERT_EQ(ring.advance(slot, frameBytes), RingStatus::Ok);
  ASSERT_EQ(ring.waitBytes(slot, frameBytes, ample), RingStatus::Ok);
  EXPECT_TRUE(inApplication(staged, frame) == frameOf(3, frameBytes));
}

TEST_P(StagedPath, SlotReleasedWhileItsFrameGrowsIsNotHandedOutBeforeItIsWhole) {
  StagedBuffer staged = make(SlotFlow::Capture, RingPolicy::Fifo, 1);
  SlotRing& ring = staged.ring();
  const std::uint32_t slot = acquireNext(ring);
  ASSERT_EQ(ring.publish(slot, 0, frameBytes, 50'000), RingStatus::Ok);
  takeNext(ring);
  ASSERT_EQ(ring.release(slot), RingStatus::Ok);
  std::uint32_t next{};
  EXPECT_EQ(ring.acquire(next, std::chrono::milliseconds{5}), RingStatus::Empty);
  ASSERT_EQ(ring.advance(slot, frameBytes), RingStatus::Ok);
  EXPECT_EQ(ring.acquire(next, ample), RingStatus::Ok);
}

TEST_P(StagedPath, FrameWhoseProducerEndsIsNeverWhole) {
  StagedBuffer staged = make();
  SlotRing& ring = staged.ring();
  const std::uint32_t slot = acquireNext(ring);
  ASSERT_EQ(ring.publish(slot, 0, frameBytes, 50'000), RingStatus::Ok);
  ring.closeProducer();
  const RingFrame frame = takeNext(ring);
  EXPECT_EQ(ring.waitBytes(frame.slot, 50'000, ample), RingStatus::Ok);
  EXPECT_EQ(ring.waitBytes(frame.slot, frameBytes, ample), RingStatus::Closed);
  EXPECT_EQ(ring.bytesReady(frame.slot), 50'000U);
  RingFrame none;
  EXPECT_EQ(ring.take(none, ample), RingStatus::Closed);
}

TEST_P(StagedPath, WhatWasPublishedBeforeTheEndArrives) {
  StagedBuffer staged = make();
  for(std::uint64_t n = 0; n < 3; ++n)
    capture(staged, n);
  staged.ring().closeProducer();
  for(std::uint64_t n = 0; n < 3; ++n)
    EXPECT_TRUE(inApplication(staged, takeNext(staged.ring())) == frameOf(n, frameBytes)) << n;
  RingFrame none;
  EXPECT_EQ(staged.ring().take(none, ample), RingStatus::Closed);
}

TEST_P(StagedPath, ConsumersEndEndsTheProducer) {
  StagedBuffer staged = make();
  const std::uint32_t slot = acquireNext(staged.ring());
  staged.ring().closeConsumer();
  EXPECT_EQ(staged.ring().publish(slot, 0, frameBytes), RingStatus::Closed);
  EXPECT_EQ(staged.ring().abandon(slot), RingStatus::Ok);
  std::uint32_t none{};
  EXPECT_EQ(staged.ring().acquire(none, ample), RingStatus::Closed);
}

TEST_P(StagedPath, FrameWaitsForTheWorkThatFillsIt) {
  StagedBuffer staged = make();
  ringtest::Work work;
  const std::uint32_t slot = acquireNext(staged.ring());
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes, work.completion()), RingStatus::Ok);
  RingFrame frame;
  EXPECT_EQ(staged.ring().take(frame, std::chrono::milliseconds{5}), RingStatus::Empty);
  fill(staged, slot, 9, 0, frameBytes);
  work.finish();
  staged.ring().notify();
  frame = takeNext(staged.ring());
  EXPECT_TRUE(inApplication(staged, frame) == frameOf(9, frameBytes));
}

TEST_P(StagedPath, SlotWaitsForTheWorkThatReadsIt) {
  StagedBuffer staged = make(SlotFlow::Capture, RingPolicy::Fifo, 1);
  ringtest::Work work;
  const std::uint32_t slot = capture(staged, 1);
  ASSERT_EQ(staged.ring().release(takeNext(staged.ring()).slot, work.completion()), RingStatus::Ok);
  std::uint32_t next{};
  EXPECT_EQ(staged.ring().tryAcquire(next), RingStatus::Empty);
  work.finish();
  EXPECT_EQ(staged.ring().acquire(next, ample), RingStatus::Ok);
  EXPECT_EQ(next, slot);
}

TEST_P(StagedPath, AsManySlotsAsWereAskedForAreUnderWay) {
  StagedBuffer staged = make();
  for(std::uint64_t n = 0; n < 3; ++n)
    capture(staged, n);
  std::uint32_t none{};
  EXPECT_EQ(staged.ring().acquire(none, std::chrono::milliseconds{5}), RingStatus::Empty);
  takeNext(staged.ring());
  EXPECT_EQ(staged.ring().tryAcquire(none), RingStatus::Empty);
}

TEST_P(StagedPath, NewestTakesBackWhatNobodyReads) {
  StagedBuffer staged = make(SlotFlow::Capture, RingPolicy::Newest, 2);
  capture(staged, 0);
  const RingFrame kept = takeNext(staged.ring());
  for(std::uint64_t n = 1; n <= 5; ++n)
    capture(staged, n);
  const RingFrame newest = takeNext(staged.ring());
  EXPECT_EQ(newest.sequence, 5U);
  EXPECT_TRUE(inApplication(staged, newest) == frameOf(5, frameBytes));
  EXPECT_TRUE(inApplication(staged, kept) == frameOf(0, frameBytes));
  const RingCounters counters = staged.ring().counters();
  EXPECT_EQ(counters.published, 6U);
  EXPECT_EQ(counters.taken, 2U);
  EXPECT_EQ(counters.drops, 4U);
}

TEST_P(StagedPath, CompanionsAreAlignedAndApart) {
  auto config = hostConfig(GetParam());
  config.companionBytes = 1000;
  const StagedBuffer staged = makeStaged(config);
  EXPECT_EQ(staged.facts().companionBytes, 1000U);
  EXPECT_EQ(cpuAddress(staged.companionBuffer().handoff(0)), staged.companion(0).data());
  for(std::size_t i = 0; i < 3; ++i) {
    const auto companion = staged.companion(i);
    ASSERT_EQ(companion.size(), 1000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(companion.data()) % (64 * 1024), 0U);
    std::memset(companion.data(), static_cast<int>(i + 1), companion.size());
  }
  EXPECT_EQ(staged.companion(0).back(), std::byte{1});
  EXPECT_TRUE(staged.companion(3).empty());
}

TEST_P(StagedPath, NoCompanionUnlessAskedFor) { EXPECT_TRUE(make().companion(0).empty()); }

TEST_P(StagedPath, ObjectMayGoWithFramesUnderWay) {
  for(int i = 0; i < 10; ++i) {
    StagedBuffer staged = make();
    capture(staged, 0);
    const std::uint32_t slot = acquireNext(staged.ring());
    EXPECT_EQ(staged.ring().publish(slot, 0, frameBytes, 10'000), RingStatus::Ok);
  }
}

TEST_P(StagedPath, ClosedAsksForNoWorkAnyMore) {
  StagedBuffer staged = make(SlotFlow::Playout);
  {
    ringtest::Work work; // never finished
    ASSERT_EQ(staged.ring().publish(acquireNext(staged.ring()), 0, frameBytes, work.completion()),
              RingStatus::Ok);
    staged.close();
  }
  staged.close();
  std::uint32_t none{};
  EXPECT_EQ(staged.ring().tryAcquire(none), RingStatus::Closed);
  EXPECT_EQ(takeStatus(staged.ring()), RingStatus::Closed);
  EXPECT_EQ(staged.error().kind, Errc::None);
}

TEST_P(StagedPath, MovedFromIsEmptyAndTheOtherGoesOn) {
  StagedBuffer first = make();
  StagedBuffer second = make();
  second = std::move(first);
  capture(second, 4);
  EXPECT_TRUE(inApplication(second, takeNext(second.ring())) == frameOf(4, frameBytes));
  // NOLINTBEGIN(bugprone-use-after-move): what is tested
  EXPECT_EQ(takeStatus(first.ring()), RingStatus::Misuse);
  EXPECT_FALSE(first.peerBuffer().valid());
  EXPECT_FALSE(first.applicationBuffer().valid());
  EXPECT_TRUE(first.companion(0).empty());
  EXPECT_EQ(first.facts().application.slotCount, 0U);
  EXPECT_EQ(first.error().kind, Errc::None);
  first.close();
  // NOLINTEND(bugprone-use-after-move)
}

} // namespace
} // namespace rdmagpu::stagedtest
