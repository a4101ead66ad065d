#include "stream/preloaded_feed.hpp"
#include "stream/read_ahead_feed.hpp"

#include "stream/hash.hpp"
#include "support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <thread>

namespace rdmagpu::cli {
namespace {

using std::chrono::milliseconds;
using test::Letters;
using test::text;

constexpr std::size_t frameBytes = 100;

TEST(FrameSequence, GoesRoundAndStopsAtTheLimit) {
  Letters letters(1, 3);
  FrameSequence sequence(letters, 3, 7);
  std::string all;
  std::array<std::byte, 1> byte{};
  while(*sequence.read(byte) == FrameStatus::Frame)
    all += text(byte);
  EXPECT_EQ(all, "abcabca");
}

TEST(FrameSequence, EndsAfterItsRounds) {
  Letters letters(1, 2);
  FrameSequence sequence(letters, 2, endless);
  std::array<std::byte, 1> byte{};
  int count = 0;
  while(*sequence.read(byte) == FrameStatus::Frame)
    ++count;
  EXPECT_EQ(count, 4);
}

TEST(PreloadedFeed, HandsOutTheInputOverAndOverWithoutACopy) {
  Letters letters(frameBytes, 3);
  const auto feed = *PreloadedFeed::load(letters, {}, 2, endless, 10);
  const std::byte* first = feed->next().data();
  feed->next();
  feed->next();
  EXPECT_EQ(feed->next().data(), first);
  feed->next();
  feed->next();
  EXPECT_TRUE(feed->next().empty());
}

TEST(PreloadedFeed, RefusesMoreThanTheRoom) {
  Letters letters(frameBytes, 4);
  const auto feed = PreloadedFeed::load(letters, {}, 1, endless, 3);
  ASSERT_FALSE(feed);
  EXPECT_EQ(feed.error().kind, InputErrorKind::Unsupported);
  EXPECT_NE(feed.error().message.find("more than the 3 frames of 100 bytes"), std::string::npos);
}

TEST(PreloadedFeed, TakesAsManyAsTheRoom) {
  Letters letters(frameBytes, 3);
  EXPECT_TRUE(PreloadedFeed::load(letters, {}, 1, endless, 3));
}

TEST(PreloadedFeed, ReadsNoMoreThanIsWanted) {
  Letters letters(frameBytes, 20);
  const auto feed = *PreloadedFeed::load(letters, {}, 1, 2, 3);
  EXPECT_EQ(text(feed->next()), Letters::frame(0, frameBytes));
  EXPECT_FALSE(feed->next().empty());
  EXPECT_TRUE(feed->next().empty());
}

/// A read-ahead feed and a ring whose both sides the test plays.
class ReadAheadTest : public testing::Test {
protected:
  void open(std::uint64_t frames, CheckMode check = {}, RingPolicy policy = RingPolicy::Fifo,
            std::optional<InputError> failure = {}, const CopyingGpu& gpu = {}) {
    reader = std::make_unique<Letters>(frameBytes, frames, std::move(failure));
    ring.emplace(*SlotRing::make({slots, policy}));
    feed = std::make_unique<ReadAheadFeed>(FrameSequence(*reader, 1, endless), check, *ring, stop, gpu);
  }
  bool fetch() { return !feed->next().empty(); }
  void publish() {
    std::uint32_t slot{};
    ASSERT_EQ(ring->tryAcquire(slot), RingStatus::Ok);
    ASSERT_EQ(ring->publish(slot, 0, frameBytes), RingStatus::Ok);
  }
  void fetchAndPublish() {
    ASSERT_TRUE(fetch());
    publish();
  }
  /// Takes a frame, and looks whether its source is there and right.
  std::uint64_t takeAndCompare() {
    feed->expectTake();
    RingFrame frame;
    EXPECT_EQ(ring->tryTake(frame), RingStatus::Ok);
    const auto source = feed->source(frame.sequence);
    EXPECT_TRUE(source);
    if(source) {
      EXPECT_EQ(text(source->bytes), Letters::frame(frame.sequence, frameBytes));
      EXPECT_EQ(source->hash, hashOf(source->bytes));
    }
    ring->release(frame.slot);
    return frame.sequence;
  }

  void takeAndRelease() {
    RingFrame frame;
    ASSERT_EQ(ring->tryTake(frame), RingStatus::Ok);
    ring->release(frame.slot);
  }

  static constexpr std::uint32_t slots = 3;
  std::atomic<bool> stop{false};
  std::unique_ptr<Letters> reader;
  std::optional<SlotRing> ring;
  std::unique_ptr<ReadAheadFeed> feed; ///< After what it borrows.
};

TEST_F(ReadAheadTest, HandsOutEveryFrameThenEnds) {
  open(10);
  for(std::uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(text(feed->next()), Letters::frame(i, frameBytes));
  EXPECT_TRUE(feed->next().empty());
  EXPECT_FALSE(feed->failure());
}

TEST_F(ReadAheadTest, KeepsWhatLiesInTheSlots) {
  open(60);
  for(int round = 0; round < 20; ++round) {
    for(std::uint32_t i = 0; i < slots; ++i)
      fetchAndPublish();
    for(std::uint32_t i = 0; i < slots; ++i)
      takeAndCompare();
  }
}

/// What a copy engine may still read must not be read into.
TEST_F(ReadAheadTest, KeepsWhatItSaysThatItKeeps) {
  open(60, {CheckMode::Kind::None}, RingPolicy::Fifo, {}, PciAddress{});
  const std::size_t kept = feed->framesKept();
  ASSERT_GT(kept, 0U);
  std::deque<std::span<const std::byte>> frames;
  for(std::uint64_t n = 0; n < 60; ++n) {
    ASSERT_TRUE(feed->ready(milliseconds{60000}));
    for(std::size_t i = 0; i < frames.size(); ++i)
      EXPECT_EQ(text(frames[i]), Letters::frame(n - frames.size() + i, frameBytes)) << "of " << n;
    frames.push_back(feed->next());
    publish();
    takeAndRelease();
    if(frames.size() > kept)
      frames.pop_front();
  }
}

TEST_F(ReadAheadTest, FindsAFrameThatWasTakenBeforeTheNextIsFetched) {
  open(5);
  fetchAndPublish();
  EXPECT_EQ(takeAndCompare(), 0U);
}

TEST_F(ReadAheadTest, KeepsWhatLiesInTheSlotsHoweverManyAreLost) {
  open(200);
  for(std::uint32_t i = 0; i < slots; ++i)
    fetchAndPublish();
  for(int lost = 0; lost < 100; ++lost) {
    ASSERT_TRUE(fetch());
    ring->countDrop();
  }
  for(std::uint64_t i = 0; i < slots; ++i)
    EXPECT_EQ(takeAndCompare(), i);
  fetchAndPublish();
  EXPECT_EQ(takeAndCompare(), slots + 100U);
}

TEST_F(ReadAheadTest, KeepsTheNewestHoweverManyAreSkipped) {
  open(200, {}, RingPolicy::Newest);
  for(int i = 0; i < 100; ++i)
    fetchAndPublish();
  EXPECT_EQ(takeAndCompare(), 99U);
  for(int i = 0; i < 50; ++i)
    fetchAndPublish();
  EXPECT_EQ(takeAndCompare(), 149U);
}

TEST_F(ReadAheadTest, KeepsAFrameThatIsOvertakenWhileItIsTaken) {
  open(200, {}, RingPolicy::Newest);
  for(std::uint32_t i = 0; i < slots; ++i)
    fetchAndPublish();
  feed->expectTake();
  // The ring may hand out any of these, if the producer takes the newer ones back at that moment.
  fetchAndPublish();
  ASSERT_TRUE(feed->ready(milliseconds{60'000}));
  for(std::uint64_t sequence = 0; sequence <= slots; ++sequence)
    EXPECT_TRUE(feed->source(sequence)) << sequence;
}

TEST_F(ReadAheadTest, KeepsTheFrameThatIsBeingChecked) {
  open(200, {}, RingPolicy::Newest);
  fetchAndPublish();
  feed->expectTake();
  RingFrame frame;
  ASSERT_EQ(ring->tryTake(frame), RingStatus::Ok);
  const auto source = feed->source(frame.sequence);
  ASSERT_TRUE(source);
  for(int i = 0; i < 50; ++i)
    fetchAndPublish();
  EXPECT_EQ(text(source->bytes), Letters::frame(0, frameBytes));
}

TEST_F(ReadAheadTest, WaitsWithMoreWhileAnyOfThemMayBeTaken) {
  open(200, {}, RingPolicy::Newest);
  feed->expectTake();
  int fetched = 0;
  while(feed->ready(milliseconds{200})) {
    fetchAndPublish();
    ++fetched;
  }
  EXPECT_LT(fetched, 200);
  RingFrame frame;
  ASSERT_EQ(ring->tryTake(frame), RingStatus::Ok);
  const auto source = feed->source(frame.sequence);
  ASSERT_TRUE(source);
  EXPECT_EQ(text(source->bytes), Letters::frame(frame.sequence, frameBytes));
  EXPECT_TRUE(feed->ready(milliseconds{60'000}));
}

TEST_F(ReadAheadTest, HasNoSourceForFramesThatAreNotChecked) {
  open(10, {.kind = CheckMode::Kind::Sample, .every = 2});
  for(int i = 0; i < 3; ++i)
    fetchAndPublish();
  ASSERT_TRUE(fetch());
  EXPECT_TRUE(feed->source(0));
  EXPECT_FALSE(feed->source(1));
  EXPECT_TRUE(feed->source(2));
  EXPECT_FALSE(feed->source(9));
}

TEST_F(ReadAheadTest, TellsWhyTheInputEnded) {
  open(2, {}, RingPolicy::Fifo, InputError{InputErrorKind::Truncated, "frame 2 is truncated"});
  EXPECT_TRUE(fetch());
  EXPECT_TRUE(fetch());
  EXPECT_FALSE(fetch());
  ASSERT_TRUE(feed->failure());
  EXPECT_EQ(feed->failure()->message, "frame 2 is truncated");
}

TEST_F(ReadAheadTest, TheFlagEndsAWait) {
  open(200, {}, RingPolicy::Newest);
  feed->expectTake();
  while(feed->ready(milliseconds{200}))
    fetchAndPublish();
  std::thread waiting([&] { EXPECT_TRUE(feed->next().empty()); });
  stop.store(true);
  waiting.join();
}

} // namespace
} // namespace rdmagpu::cli
