#include <core/slot_ring_fixture.hpp>

#include <thread>

namespace rdmagpu::ringtest {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds unlimited{-1};

/// Gives the other thread the time to fall asleep. Correctness does not hang on it.
void letItSleep() { std::this_thread::sleep_for(20ms); }

TEST(SlotRingWait, AFrameWakesTheConsumer) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(2, policy);
    std::thread consumer{[&] {
      RingFrame frame;
      EXPECT_EQ(ring.take(frame, unlimited), RingStatus::Ok);
      EXPECT_EQ(frame.timestamp, 3);
    }};
    letItSleep();
    publishNext(ring, 3);
    consumer.join();
  }
}

TEST(SlotRingWait, AReleaseWakesTheProducer) {
  SlotRing ring = makeRing(1);
  const std::uint32_t only = publishNext(ring, 1);
  taken(ring);
  std::thread producer{[&] {
    std::uint32_t slot = 99;
    EXPECT_EQ(ring.acquire(slot, unlimited), RingStatus::Ok);
    EXPECT_EQ(slot, only);
  }};
  letItSleep();
  EXPECT_EQ(ring.release(only), RingStatus::Ok);
  producer.join();
}

TEST(SlotRingWait, ASkippedFrameWakesTheProducer) {
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  Work first;
  publishNext(ring, 1, first.completion());
  publishNext(ring, 2);
  std::thread producer{[&] {
    std::uint32_t slot{};
    EXPECT_EQ(ring.acquire(slot, unlimited), RingStatus::Ok); // the oldest frame's work is not done
  }};
  letItSleep();
  EXPECT_EQ(taken(ring).timestamp, 2);
  first.finish();
  producer.join();
}

TEST(SlotRingWait, MoreBytesWakeTheConsumer) {
  SlotRing ring = makeRing(1);
  const std::uint32_t slot = acquired(ring);
  ASSERT_EQ(ring.publish(slot, 1, 100, 0), RingStatus::Ok);
  std::thread consumer{[&] {
    taken(ring);
    EXPECT_EQ(ring.waitBytes(slot, 80, unlimited), RingStatus::Ok);
    EXPECT_GE(ring.bytesReady(slot), 80U);
  }};
  for(std::size_t ready = 20; ready <= 100; ready += 20) {
    letItSleep();
    EXPECT_EQ(ring.advance(slot, ready), RingStatus::Ok);
  }
  consumer.join();
}

TEST(SlotRingWait, WorkThatBecomesDoneIsFoundWithoutNotify) {
  SlotRing ring = makeRing(1);
  Work writing;
  Work reading;
  const std::uint32_t slot = publishNext(ring, 1, writing.completion());
  std::thread consumer{[&] {
    RingFrame frame;
    EXPECT_EQ(ring.take(frame, unlimited), RingStatus::Ok);
    EXPECT_EQ(ring.release(slot, reading.completion()), RingStatus::Ok);
  }};
  letItSleep();
  writing.finish();
  consumer.join();
  std::thread producer{[&] {
    std::uint32_t again{};
    EXPECT_EQ(ring.acquire(again, unlimited), RingStatus::Ok);
  }};
  letItSleep();
  reading.finish();
  producer.join();
}

TEST(SlotRingWait, NotifyMakesAWaitingCallAskAgain) {
  SlotRing ring = makeRing(1);
  Work work;
  publishNext(ring, 1, work.completion());
  std::atomic<bool> ended{};
  std::thread consumer{[&] {
    RingFrame frame;
    EXPECT_EQ(ring.take(frame, unlimited), RingStatus::Ok);
    ended = true;
  }};
  work.finish();
  while(!ended)
    ring.notify();
  consumer.join();
}

TEST(SlotRingWait, ATimeOfZeroDoesNotWait) {
  SlotRing ring = makeRing(1);
  std::uint32_t slot{};
  RingFrame frame;
  EXPECT_EQ(ring.take(frame, 0ns), RingStatus::Empty);
  EXPECT_EQ(ring.acquire(slot, 0ns), RingStatus::Ok);
  EXPECT_EQ(ring.acquire(slot, 0ns), RingStatus::Empty);
}

TEST(SlotRingWait, GivesUpWhenTheTimeIsUpAndNotBefore) {
  SlotRing ring = makeRing(1);
  std::uint32_t slot{};
  RingFrame frame;
  Clock::time_point start = Clock::now();
  EXPECT_EQ(ring.take(frame, 15ms), RingStatus::Empty);
  EXPECT_GE(Clock::now() - start, 15ms);
  acquired(ring);
  start = Clock::now();
  EXPECT_EQ(ring.acquire(slot, 15ms), RingStatus::Empty);
  EXPECT_GE(Clock::now() - start, 15ms);
}

TEST(SlotRingWait, BeingWokenForNothingDoesNotProlongTheWait) {
  SlotRing ring = makeRing(1);
  std::atomic<bool> ended{};
  std::thread consumer{[&] {
    const Clock::time_point start = Clock::now();
    RingFrame frame;
    EXPECT_EQ(ring.take(frame, 50ms), RingStatus::Empty);
    EXPECT_GE(Clock::now() - start, 50ms);
    ended = true;
  }};
  while(!ended) // would never end if each call began the wait anew
    ring.notify();
  consumer.join();
}

TEST(SlotRingWait, TheLongestTimeDoesNotOverflow) {
  for(const std::chrono::nanoseconds timeout :
      {std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max() - 1h,
       std::chrono::nanoseconds::min()}) {
    SlotRing ring = makeRing(1);
    std::thread consumer{[&] {
      RingFrame frame;
      EXPECT_EQ(ring.take(frame, timeout), RingStatus::Ok);
    }};
    letItSleep();
    publishNext(ring, 1);
    consumer.join();
  }
}

TEST(SlotRingClose, TheConsumerDrainsThenFindsItClosed) {
  SlotRing ring = makeRing(3);
  publishNext(ring, 1);
  publishNext(ring, 2);
  ring.closeProducer();
  EXPECT_EQ(taken(ring).timestamp, 1);
  const RingFrame last = taken(ring);
  EXPECT_EQ(last.timestamp, 2);
  RingFrame frame;
  EXPECT_EQ(ring.tryTake(frame), RingStatus::Closed);
  EXPECT_EQ(ring.take(frame, unlimited), RingStatus::Closed);
  EXPECT_EQ(ring.release(last.slot), RingStatus::Ok);
}

TEST(SlotRingClose, TheProducerFindsItClosedAtOnce) {
  SlotRing ring = makeRing(3);
  const std::uint32_t held = acquired(ring);
  ring.closeConsumer();
  std::uint32_t slot{};
  EXPECT_EQ(ring.tryAcquire(slot), RingStatus::Closed);
  EXPECT_EQ(ring.acquire(slot, unlimited), RingStatus::Closed);
  EXPECT_EQ(ring.publish(held, 1, 1), RingStatus::Closed);
  EXPECT_EQ(ring.abandon(held), RingStatus::Ok) << "a refused publish moves no slot";
  EXPECT_EQ(ring.counters().published, 0U);
}

TEST(SlotRingClose, AClosedSideIsClosedToItselfToo) {
  SlotRing ring = makeRing(2);
  publishNext(ring, 1);
  const std::uint32_t held = acquired(ring);
  ring.closeProducer();
  EXPECT_EQ(acquireStatus(ring), RingStatus::Closed);
  EXPECT_EQ(ring.publish(held, 1, 1), RingStatus::Closed);
  ring.closeConsumer();
  EXPECT_EQ(takeStatus(ring), RingStatus::Closed) << "no more frames are wanted, though there is one";
}

TEST(SlotRingClose, EndsAConsumersWait) {
  for(const bool byProducer : {true, false}) {
    SlotRing ring = makeRing(1);
    std::thread consumer{[&] {
      RingFrame frame;
      EXPECT_EQ(ring.take(frame, unlimited), RingStatus::Closed);
    }};
    letItSleep();
    byProducer ? ring.closeProducer() : ring.closeConsumer();
    consumer.join();
  }
}

TEST(SlotRingClose, EndsAProducersWait) {
  for(const bool byProducer : {true, false}) {
    SlotRing ring = makeRing(1);
    acquired(ring);
    std::thread producer{[&] {
      std::uint32_t slot{};
      EXPECT_EQ(ring.acquire(slot, unlimited), RingStatus::Closed);
    }};
    letItSleep();
    byProducer ? ring.closeProducer() : ring.closeConsumer();
    producer.join();
  }
}

TEST(SlotRingClose, EndsAWaitForBytes) {
  for(const bool byProducer : {true, false}) {
    SlotRing ring = makeRing(1);
    const std::uint32_t slot = acquired(ring);
    ASSERT_EQ(ring.publish(slot, 1, 100, 50), RingStatus::Ok);
    taken(ring);
    std::thread consumer{[&] { EXPECT_EQ(ring.waitBytes(slot, 100, unlimited), RingStatus::Closed); }};
    letItSleep();
    byProducer ? ring.closeProducer() : ring.closeConsumer();
    consumer.join();
  }
}

} // namespace
} // namespace rdmagpu::ringtest
