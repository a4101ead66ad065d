#include <core/slot_ring_fixture.hpp>

namespace rdmagpu::ringtest {
namespace {

TEST(SlotRingPartial, AFrameIsTakenBeforeItIsWhole) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 10), RingStatus::Ok);
  const RingFrame frame = taken(ring);
  EXPECT_EQ(frame.bytes, 100U);
  EXPECT_EQ(frame.bytesReady, 10U);
  EXPECT_EQ(ring.bytesReady(slot), 10U);
  EXPECT_EQ(ring.advance(slot, 60), RingStatus::Ok);
  EXPECT_EQ(ring.bytesReady(slot), 60U);
  EXPECT_EQ(ring.advance(slot, 100), RingStatus::Ok);
  EXPECT_EQ(ring.bytesReady(slot), 100U);
}

TEST(SlotRingPartial, AFrameTellsHowFarItIsWhenTaken) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 0), RingStatus::Ok);
  EXPECT_EQ(ring.bytesReady(slot), 0U);
  EXPECT_EQ(ring.advance(slot, 40), RingStatus::Ok);
  EXPECT_EQ(ring.bytesReady(slot), 0U) << "not taken yet";
  EXPECT_EQ(taken(ring).bytesReady, 40U);
}

TEST(SlotRingPartial, RefusesMoreBytesThanTheFrameHas) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  EXPECT_EQ(ring.publish(slot, 1, 100, 101), RingStatus::Misuse);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  EXPECT_EQ(ring.advance(slot, 101), RingStatus::Misuse);
  EXPECT_EQ(taken(ring).bytesReady, 50U);
  EXPECT_EQ(ring.waitBytes(slot, 101, ample), RingStatus::Misuse);
}

TEST(SlotRingPartial, NeverGoesBack) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  EXPECT_EQ(ring.advance(slot, 49), RingStatus::Misuse);
  EXPECT_EQ(ring.advance(slot, 50), RingStatus::Ok);
  EXPECT_EQ(taken(ring).bytesReady, 50U);
}

TEST(SlotRingPartial, AWholeFrameIsNoLongerTheProducers) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  EXPECT_EQ(ring.advance(slot, 100), RingStatus::Ok);
  EXPECT_EQ(ring.advance(slot, 100), RingStatus::Misuse);
}

TEST(SlotRingPartial, AReleasedSlotIsNotHandedOutBeforeItsFrameIsWhole) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(1, policy);
    const std::uint32_t slot = acquired(ring);
    ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
    taken(ring);
    EXPECT_EQ(ring.release(slot), RingStatus::Ok);
    EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
    EXPECT_EQ(ring.advance(slot, 99), RingStatus::Ok);
    EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
    EXPECT_EQ(ring.advance(slot, 100), RingStatus::Ok);
    EXPECT_EQ(acquired(ring), slot);
  }
}

TEST(SlotRingPartial, AnUnfinishedSlotDoesNotBlockTheFreeOnesBehindIt) {
  SlotRing ring = makeRing(2);
  const std::uint32_t unfinished = acquired(ring);
  ASSERT_EQ(ring.publish(unfinished, 1, 100, 50), RingStatus::Ok);
  const std::uint32_t whole = publishNext(ring, 2);
  taken(ring);
  taken(ring);
  EXPECT_EQ(ring.release(unfinished), RingStatus::Ok);
  EXPECT_EQ(ring.release(whole), RingStatus::Ok);
  EXPECT_EQ(acquired(ring), whole);
  EXPECT_EQ(ring.advance(unfinished, 100), RingStatus::Ok);
  EXPECT_EQ(acquired(ring), unfinished);
}

TEST(SlotRingPartial, NewestDoesNotTakeBackAnUnfinishedFrame) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  acquired(ring);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  EXPECT_EQ(ring.advance(slot, 100), RingStatus::Ok);
  EXPECT_EQ(acquired(ring), slot);
}

TEST(SlotRingPartial, ASkippedFrameIsFinishedBeforeItsSlotIsHandedOut) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  publishNext(ring, 2);
  EXPECT_EQ(taken(ring).timestamp, 2);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  EXPECT_EQ(ring.advance(slot, 100), RingStatus::Ok);
  EXPECT_EQ(acquired(ring), slot);
}

TEST(SlotRingPartial, WaitBytesAnswersAtOnceWhenTheyAreThere) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  taken(ring);
  EXPECT_EQ(ring.waitBytes(slot, 0, ample), RingStatus::Ok);
  EXPECT_EQ(ring.waitBytes(slot, 50, ample), RingStatus::Ok);
}

TEST(SlotRingPartial, WaitBytesGivesUpWhenTheTimeIsUp) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  taken(ring);
  EXPECT_EQ(ring.waitBytes(slot, 51, std::chrono::nanoseconds{0}), RingStatus::Empty);
  EXPECT_EQ(ring.waitBytes(slot, 51, std::chrono::milliseconds{2}), RingStatus::Empty);
}

TEST(SlotRingPartial, WaitBytesIsClosedWhenTheProducerEndedWithoutThem) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
  taken(ring);
  ring.closeProducer();
  EXPECT_EQ(ring.waitBytes(slot, 50, ample), RingStatus::Ok);
  EXPECT_EQ(ring.waitBytes(slot, 51, ample), RingStatus::Closed);
}

} // namespace
} // namespace rdmagpu::ringtest
