#include <core/slot_ring_fixture.hpp>

namespace rdmagpu::ringtest {
namespace {

TEST(SlotRingCompletion, AFrameIsNotTakenBeforeItsWorkIsDone) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(2, policy);
    Work work;
    const std::uint32_t slot = publishNext(ring, 1, work.completion());
    EXPECT_EQ(work.asked(), 0) << "the producer does not wait for it";
    EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
    EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
    EXPECT_EQ(work.asked(), 2);
    work.finish();
    EXPECT_EQ(taken(ring).slot, slot);
    EXPECT_EQ(work.asked(), 3);
  }
}

TEST(SlotRingCompletion, WorkThatIsDoneIsNotAskedAgain) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(1, policy);
    Work writing;
    Work reading;
    writing.finish();
    reading.finish();
    const std::uint32_t slot = publishNext(ring, 1, writing.completion());
    taken(ring);
    EXPECT_EQ(ring.release(slot, reading.completion()), RingStatus::Ok);
    publishNext(ring, 2);
    taken(ring);
    EXPECT_EQ(ring.release(slot), RingStatus::Ok);
    acquired(ring);
    EXPECT_EQ(writing.asked(), 1);
    EXPECT_EQ(reading.asked(), 1);
  }
}

TEST(SlotRingCompletion, FifoKeepsTheOrderBehindAFrameThatIsNotDone) {
  SlotRing ring = makeRing(2);
  Work work;
  publishNext(ring, 1, work.completion());
  publishNext(ring, 2);
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  work.finish();
  EXPECT_EQ(taken(ring).timestamp, 1);
  EXPECT_EQ(taken(ring).timestamp, 2);
}

TEST(SlotRingCompletion, NewestTakesTheNewestThatIsDone) {
  SlotRing ring = makeRing(4, RingPolicy::Newest);
  Work third;
  Work fourth;
  publishNext(ring, 1);
  publishNext(ring, 2);
  publishNext(ring, 3, third.completion());
  publishNext(ring, 4, fourth.completion());
  EXPECT_EQ(taken(ring).timestamp, 2);
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  third.finish();
  EXPECT_EQ(taken(ring).timestamp, 3);
  fourth.finish();
  EXPECT_EQ(taken(ring).timestamp, 4);
  EXPECT_EQ(ring.counters().drops, 1U);
}

TEST(SlotRingCompletion, ASkippedFrameKeepsItsSlotUntilItsWorkIsDone) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  Work work;
  const std::uint32_t skipped = publishNext(ring, 1, work.completion());
  publishNext(ring, 2);
  EXPECT_EQ(taken(ring).timestamp, 2);
  EXPECT_EQ(ring.counters().drops, 1U);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  work.finish();
  EXPECT_EQ(acquired(ring), skipped);
}

TEST(SlotRingCompletion, NewestDoesNotTakeBackAFrameThatIsNotDone) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  Work work;
  const std::uint32_t slot = publishNext(ring, 1, work.completion());
  publishNext(ring, 2);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  work.finish();
  EXPECT_EQ(acquired(ring), slot);
  EXPECT_EQ(taken(ring).timestamp, 2);
}

TEST(SlotRingCompletion, AReleasedSlotIsNotHandedOutBeforeItsWorkIsDone) {
  SlotRing ring = makeRing(1);
  Work work;
  const std::uint32_t slot = publishNext(ring, 1);
  taken(ring);
  EXPECT_EQ(ring.release(slot, work.completion()), RingStatus::Ok);
  EXPECT_EQ(work.asked(), 0) << "the consumer does not wait for it";
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  work.finish();
  EXPECT_EQ(acquired(ring), slot);
}

TEST(SlotRingCompletion, APendingSlotDoesNotBlockTheFreeOnesBehindIt) {
  SlotRing ring = makeRing(3);
  Work first;
  Work second;
  for(std::int64_t i = 0; i < 3; ++i)
    publishNext(ring, i);
  const RingFrame a = taken(ring);
  const RingFrame b = taken(ring);
  const RingFrame c = taken(ring);
  EXPECT_EQ(ring.release(a.slot, first.completion()), RingStatus::Ok);
  EXPECT_EQ(ring.release(b.slot, second.completion()), RingStatus::Ok);
  EXPECT_EQ(ring.release(c.slot), RingStatus::Ok);
  EXPECT_EQ(acquired(ring), c.slot);
  second.finish();
  EXPECT_EQ(acquired(ring), b.slot);
  first.finish();
  EXPECT_EQ(acquired(ring), a.slot);
}

TEST(SlotRingCompletion, NewestTakesAFrameBackRatherThanWaitForAReleasedSlot) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  Work work;
  const std::uint32_t released = publishNext(ring, 1);
  taken(ring);
  EXPECT_EQ(ring.release(released, work.completion()), RingStatus::Ok);
  const std::uint32_t unread = publishNext(ring, 2);
  EXPECT_EQ(acquired(ring), unread);
  EXPECT_EQ(ring.counters().drops, 1U);
}

TEST(SlotRingCompletion, AClosedRingIsDrainedOfFramesThatAreNotDoneYet) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(1, policy);
    Work work;
    publishNext(ring, 1, work.completion());
    ring.closeProducer();
    EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
    work.finish();
    taken(ring);
    EXPECT_EQ(takeStatus(ring), RingStatus::Closed);
  }
}

} // namespace
} // namespace rdmagpu::ringtest
