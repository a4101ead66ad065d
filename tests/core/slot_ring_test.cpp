#include <core/slot_ring_fixture.hpp>

#include <gmock/gmock.h>

#include <array>
#include <set>

namespace rdmagpu::ringtest {
namespace {

using testing::AllOf;
using testing::Field;
using testing::StrEq;

TEST(SlotRing, RefusesAPolicyThatThereIsNot) {
  const auto ring = SlotRing::make({.slotCount = 1, .policy = RingPolicy{9}});
  ASSERT_FALSE(ring);
  EXPECT_STREQ(ring.error().codeName, "ValueUnknown");
}

TEST(SlotRing, RefusesZeroSlots) {
  const Result<SlotRing> ring = SlotRing::make({0, RingPolicy::Fifo});
  ASSERT_FALSE(ring);
  EXPECT_THAT(ring.error(), AllOf(Field(&Error::kind, Errc::InvalidArgument),
                                  Field(&Error::codeName, StrEq("SlotCountZero")),
                                  Field(&Error::call, StrEq("SlotRing::make"))));
}

TEST(SlotRing, TellsItsConfiguration) {
  const SlotRing ring = makeRing(5, RingPolicy::Newest);
  EXPECT_EQ(ring.slotCount(), 5U);
  EXPECT_EQ(ring.policy(), RingPolicy::Newest);
}

TEST(SlotRing, HandsOutEachSlotOnceThenIsEmpty) {
  for(const std::uint32_t count : {1U, 2U, 3U, 5U, 64U, 65U}) {
    SlotRing ring = makeRing(count);
    std::set<std::uint32_t> slots;
    for(std::uint32_t i = 0; i < count; ++i)
      slots.insert(acquired(ring));
    EXPECT_EQ(slots.size(), count);
    EXPECT_LT(*slots.rbegin(), count);
    EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  }
}

TEST(SlotRing, CarriesTheFramesDescription) {
  SlotRing ring = makeRing(2);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, -7, 4096), RingStatus::Ok);
  const RingFrame frame = taken(ring);
  EXPECT_EQ(frame.slot, slot);
  EXPECT_EQ(frame.sequence, 0U);
  EXPECT_EQ(frame.timestamp, -7);
  EXPECT_EQ(frame.bytes, 4096U);
  EXPECT_EQ(frame.bytesReady, 4096U);
}

TEST(SlotRing, CarriesAFrameOfNoBytes) {
  SlotRing ring = makeRing(1);
  ASSERT_EQ(ring.publish(acquired(ring), 1, 0), RingStatus::Ok);
  const RingFrame frame = taken(ring);
  EXPECT_EQ(frame.bytes, 0U);
  EXPECT_EQ(ring.release(frame.slot), RingStatus::Ok);
  acquired(ring);
}

TEST(SlotRing, EmptyLeavesTheCallersVariables) {
  SlotRing ring = makeRing(1);
  acquired(ring);
  std::uint32_t slot = 77;
  EXPECT_EQ(ring.tryAcquire(slot), RingStatus::Empty);
  EXPECT_EQ(slot, 77U);
  RingFrame frame{.slot = 77};
  EXPECT_EQ(ring.tryTake(frame), RingStatus::Empty);
  EXPECT_EQ(frame.slot, 77U);
}

TEST(SlotRing, FifoGivesEveryFrameInOrder) {
  SlotRing ring = makeRing(3);
  for(std::int64_t lap = 0; lap < 10; ++lap) {
    for(std::int64_t i = 0; i < 3; ++i)
      publishNext(ring, 3 * lap + i);
    for(std::int64_t i = 0; i < 3; ++i) {
      const RingFrame frame = taken(ring);
      EXPECT_EQ(frame.timestamp, 3 * lap + i);
      EXPECT_EQ(frame.sequence, static_cast<std::uint64_t>(3 * lap + i));
      EXPECT_EQ(ring.release(frame.slot), RingStatus::Ok);
    }
    EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  }
  EXPECT_EQ(ring.counters().drops, 0U);
}

TEST(SlotRing, FifoNeverTakesAFrameBack) {
  SlotRing ring = makeRing(2);
  publishNext(ring, 1);
  publishNext(ring, 2);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  EXPECT_EQ(taken(ring).timestamp, 1);
}

TEST(SlotRing, ATakenSlotIsNotHandedOutBeforeItIsReleased) {
  SlotRing ring = makeRing(1);
  publishNext(ring, 1);
  const RingFrame frame = taken(ring);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  EXPECT_EQ(ring.release(frame.slot), RingStatus::Ok);
  EXPECT_EQ(acquired(ring), frame.slot);
}

TEST(SlotRing, TheSlotReleasedLastIsHandedOutFirst) {
  SlotRing ring = makeRing(3);
  std::array<RingFrame, 3> frames;
  for(std::int64_t i = 0; i < 3; ++i)
    publishNext(ring, i);
  for(RingFrame& frame : frames)
    frame = taken(ring);
  for(const std::size_t i : {2U, 0U, 1U})
    EXPECT_EQ(ring.release(frames[i].slot), RingStatus::Ok);
  for(const std::size_t i : {1U, 0U, 2U})
    EXPECT_EQ(acquired(ring), frames[i].slot);
}

TEST(SlotRing, ACountedDropLeavesAGapInTheSequence) {
  SlotRing ring = makeRing(3);
  publishNext(ring, 1);
  ring.countDrop();
  ring.countDrop();
  publishNext(ring, 2);
  EXPECT_EQ(taken(ring).sequence, 0U);
  EXPECT_EQ(taken(ring).sequence, 3U);
  EXPECT_EQ(ring.counters().drops, 2U);
}

TEST(SlotRing, AnAbandonedSlotIsFreeAndUsesNoSequenceNumber) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  EXPECT_EQ(ring.abandon(slot), RingStatus::Ok);
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  EXPECT_EQ(publishNext(ring, 1), slot);
  EXPECT_EQ(taken(ring).sequence, 0U);
  EXPECT_EQ(ring.counters().drops, 0U);
}

TEST(SlotRing, CountsWhatHappened) {
  SlotRing ring = makeRing(4);
  for(std::int64_t i = 0; i < 3; ++i)
    publishNext(ring, i);
  taken(ring);
  taken(ring);
  ring.countDrop();
  ring.countUnderrun();
  ring.countUnderrun();
  const RingCounters counters = ring.counters();
  EXPECT_EQ(counters.published, 3U);
  EXPECT_EQ(counters.taken, 2U);
  EXPECT_EQ(counters.drops, 1U);
  EXPECT_EQ(counters.underruns, 2U);
}

TEST(SlotRing, NewestSkipsToTheLastFrame) {
  SlotRing ring = makeRing(4, RingPolicy::Newest);
  for(std::int64_t i = 0; i < 3; ++i)
    publishNext(ring, i);
  const RingFrame frame = taken(ring);
  EXPECT_EQ(frame.timestamp, 2);
  EXPECT_EQ(frame.sequence, 2U);
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  EXPECT_EQ(ring.counters().drops, 2U);
  EXPECT_EQ(ring.counters().taken, 1U);
}

TEST(SlotRing, NewestFreesTheSlotsThatItSkips) {
  SlotRing ring = makeRing(3, RingPolicy::Newest);
  for(std::int64_t i = 0; i < 3; ++i)
    publishNext(ring, i);
  const RingFrame frame = taken(ring);
  const std::set<std::uint32_t> slots{acquired(ring), acquired(ring)};
  EXPECT_EQ(slots.size(), 2U);
  EXPECT_FALSE(slots.contains(frame.slot));
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
}

TEST(SlotRing, NewestTakesBackTheOldestUnreadFrame) {
  SlotRing ring = makeRing(3, RingPolicy::Newest);
  const std::uint32_t oldest = publishNext(ring, 0);
  publishNext(ring, 1);
  publishNext(ring, 2);
  EXPECT_EQ(publishNext(ring, 3), oldest);
  EXPECT_EQ(ring.counters().drops, 1U);
  EXPECT_EQ(taken(ring).timestamp, 3);
  EXPECT_EQ(ring.counters().drops, 3U);
}

TEST(SlotRing, NewestTakesNoFrameBackWhileASlotIsFree) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  publishNext(ring, 0);
  acquired(ring);
  EXPECT_EQ(ring.counters().drops, 0U);
}

TEST(SlotRing, NewestLeavesTheConsumersSlotAlone) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  publishNext(ring, 0);
  const RingFrame frame = taken(ring);
  for(std::int64_t i = 1; i < 10; ++i)
    EXPECT_NE(publishNext(ring, i), frame.slot);
  EXPECT_EQ(ring.counters().drops, 8U);
}

TEST(SlotRing, NewestIsEmptyWhenTheConsumerHoldsEverySlot) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  for(std::int64_t i = 0; i < 2; ++i) {
    publishNext(ring, i);
    taken(ring);
  }
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
}

TEST(SlotRing, ASingleSlotServesBothPolicies) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(1, policy);
    for(std::int64_t i = 0; i < 100; ++i) {
      publishNext(ring, i);
      const RingFrame frame = taken(ring);
      EXPECT_EQ(frame.timestamp, i);
      EXPECT_EQ(ring.release(frame.slot), RingStatus::Ok);
    }
  }
}

TEST(SlotRing, RefusesASlotThatIsOutOfRange) {
  SlotRing ring = makeRing(2);
  for(const std::uint32_t slot : {2U, 3U, 0xffffffffU}) {
    EXPECT_EQ(ring.abandon(slot), RingStatus::Misuse);
    EXPECT_EQ(ring.publish(slot, 0, 1), RingStatus::Misuse);
    EXPECT_EQ(ring.advance(slot, 1), RingStatus::Misuse);
    EXPECT_EQ(ring.waitBytes(slot, 0, ample), RingStatus::Misuse);
    EXPECT_EQ(ring.release(slot), RingStatus::Misuse);
    EXPECT_EQ(ring.bytesReady(slot), 0U);
  }
}

/// One of a ring's two slots, in each of the states that a slot can be in.
enum class SlotState : std::uint8_t { Free, Acquired, Published, Taken };

class SlotRingMisuse : public testing::TestWithParam<SlotState> {
protected:
  SlotRingMisuse() {
    if(GetParam() == SlotState::Free)
      return;
    slot = acquired(ring);
    if(GetParam() == SlotState::Acquired)
      return;
    EXPECT_EQ(ring.publish(slot, 5, 10), RingStatus::Ok);
    if(GetParam() == SlotState::Taken)
      taken(ring);
  }

  SlotRing ring = makeRing(2);
  std::uint32_t slot{};
};

TEST_P(SlotRingMisuse, OnlyTheHolderMayGiveASlotAway) {
  if(GetParam() != SlotState::Acquired) {
    EXPECT_EQ(ring.abandon(slot), RingStatus::Misuse);
    EXPECT_EQ(ring.publish(slot, 6, 11), RingStatus::Misuse);
  }
  if(GetParam() != SlotState::Taken) {
    EXPECT_EQ(ring.release(slot), RingStatus::Misuse);
    EXPECT_EQ(ring.waitBytes(slot, 1, ample), RingStatus::Misuse);
    EXPECT_EQ(ring.bytesReady(slot), 0U);
  }
  EXPECT_EQ(ring.advance(slot, 10), RingStatus::Misuse);

  // Nothing changed: the slot's life goes on from where it was, and the other slot is still free.
  acquired(ring);
  if(GetParam() == SlotState::Free)
    slot = acquired(ring);
  EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  if(GetParam() < SlotState::Published) {
    EXPECT_EQ(ring.publish(slot, 5, 10), RingStatus::Ok);
  }
  if(GetParam() < SlotState::Taken) {
    const RingFrame frame = taken(ring);
    EXPECT_EQ(frame.slot, slot);
    EXPECT_EQ(frame.timestamp, 5);
    EXPECT_EQ(frame.bytes, 10U);
  }
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  EXPECT_EQ(ring.release(slot), RingStatus::Ok);
  EXPECT_EQ(ring.counters().published, 1U);
  EXPECT_EQ(ring.counters().taken, 1U);
}

const char* stateName(const testing::TestParamInfo<SlotState>& state) {
  constexpr std::array names{"Free", "Acquired", "Published", "Taken"};
  return names[static_cast<std::size_t>(state.param)];
}

INSTANTIATE_TEST_SUITE_P(EachState, SlotRingMisuse,
                         testing::Values(SlotState::Free, SlotState::Acquired, SlotState::Published,
                                         SlotState::Taken),
                         stateName);

TEST(SlotRing, MovesWithItsFrames) {
  SlotRing first = makeRing(2);
  const std::uint32_t slot = publishNext(first, 9);
  SlotRing second = std::move(first);
  SlotRing third = makeRing(7);
  third = std::move(second);
  EXPECT_EQ(third.slotCount(), 2U);
  EXPECT_EQ(taken(third).slot, slot);
  EXPECT_EQ(third.release(slot), RingStatus::Ok);
}

TEST(SlotRing, IsEmptyAfterAMove) {
  SlotRing ring = makeRing(2);
  const SlotRing other = std::move(ring);
  std::uint32_t slot{};
  RingFrame frame;
  EXPECT_EQ(ring.slotCount(), 0U);
  EXPECT_EQ(ring.policy(), RingPolicy::Fifo);
  EXPECT_EQ(ring.counters().published, 0U);
  EXPECT_EQ(ring.bytesReady(0), 0U);
  EXPECT_EQ(ring.tryAcquire(slot), RingStatus::Misuse);
  EXPECT_EQ(ring.acquire(slot, ample), RingStatus::Misuse);
  EXPECT_EQ(ring.abandon(0), RingStatus::Misuse);
  EXPECT_EQ(ring.publish(0, 0, 1), RingStatus::Misuse);
  EXPECT_EQ(ring.advance(0, 1), RingStatus::Misuse);
  EXPECT_EQ(ring.tryTake(frame), RingStatus::Misuse);
  EXPECT_EQ(ring.take(frame, ample), RingStatus::Misuse);
  EXPECT_EQ(ring.waitBytes(0, 1, ample), RingStatus::Misuse);
  EXPECT_EQ(ring.release(0), RingStatus::Misuse);
  ring.countDrop();
  ring.countUnderrun();
  ring.closeProducer();
  ring.closeConsumer();
  ring.notify();
}

} // namespace
} // namespace rdmagpu::ringtest
