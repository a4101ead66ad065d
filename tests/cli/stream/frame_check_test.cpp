#include "stream/frame_check.hpp"

#include "stream/preloaded_feed.hpp"
#include "support.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::Letters;

constexpr std::size_t frameBytes = 10000;
constexpr std::uint32_t slots = 4;

class FrameCheckTest : public testing::Test {
protected:
  static std::unique_ptr<PreloadedFeed> load() {
    Letters letters(frameBytes, 26);
    return *PreloadedFeed::load(letters, {}, endless, endless, 26);
  }
  static std::string frame(std::uint64_t index) { return Letters::frame(index, frameBytes); }
  void put(std::uint64_t sequence, std::uint32_t slot, const std::string& found) {
    check.check(sequence, slot, test::bytes(found), {});
  }
  const CheckCounts& counts() const { return check.counts(); }

  std::unique_ptr<PreloadedFeed> feed = load();
  FrameCheck check{*feed, {}, slots};
};

TEST_F(FrameCheckTest, RightFramesAreCounted) {
  put(0, 0, frame(0));
  put(1, 1, frame(1));
  EXPECT_EQ(counts().checked, 2U);
  EXPECT_EQ(counts().mismatches, 0U);
}

TEST_F(FrameCheckTest, AWrongByteIsFoundWhereItIs) {
  std::string wrong = frame(5);
  wrong[1234] = '?';
  put(5, 3, wrong);
  ASSERT_EQ(counts().first.size(), 1U);
  EXPECT_EQ(counts().first[0].frame, 5U);
  EXPECT_EQ(counts().first[0].slot, 3U);
  EXPECT_EQ(counts().first[0].offset, 1234U);
  EXPECT_EQ(counts().first[0].damage, Damage::Other);
}

TEST_F(FrameCheckTest, TheFrameBeforeInTheSlotIsStale) {
  put(0, 2, frame(0));
  put(4, 2, frame(0));
  EXPECT_EQ(counts().stale, 1U);
  EXPECT_EQ(counts().mismatches, 1U);
}

TEST_F(FrameCheckTest, AnotherEndIsTorn) {
  put(1, 0, frame(1).substr(0, frameBytes / 2) + frame(0).substr(frameBytes / 2));
  EXPECT_EQ(counts().torn, 1U);
  EXPECT_EQ(counts().first[0].offset, frameBytes / 2);
}

TEST_F(FrameCheckTest, AFrameThatIsOneByteTooLongDiffersAtItsEnd) {
  put(1, 0, frame(1) + "b");
  ASSERT_EQ(counts().mismatches, 1U);
  EXPECT_EQ(counts().first[0].offset, frameBytes);
}

TEST_F(FrameCheckTest, RightBytesAMomentLaterAreLate) {
  std::string found = frame(1);
  found.back() = '?';
  check.check(1, 0, test::bytes(found), [&] {
    found.back() = frame(1).back();
    return true;
  });
  EXPECT_EQ(counts().late, 1U);
  EXPECT_EQ(counts().torn, 0U);
}

TEST_F(FrameCheckTest, ASlotThatCannotBeReadAgainIsNotLate) {
  std::string found = frame(1);
  found.back() = '?';
  check.check(1, 0, test::bytes(found), [] { return false; });
  EXPECT_EQ(counts().late, 0U);
  EXPECT_EQ(counts().torn, 1U);
}

TEST_F(FrameCheckTest, OnlyTheFirstFewAreListedButAllAreCounted) {
  for(std::uint64_t i = 0; i < 20; ++i)
    put(i, 0, frame(25));
  EXPECT_EQ(counts().mismatches, 20U);
  EXPECT_EQ(counts().first.size(), FrameCheck::mostListed);
}

TEST_F(FrameCheckTest, AnUncheckedFrameLeavesNothingToBeStaleAgainst) {
  FrameCheck sampled{*feed, {.kind = CheckMode::Kind::Sample, .every = 2}, slots};
  sampled.check(0, 0, test::bytes(frame(0)), {});
  sampled.check(1, 0, test::bytes(frame(1)), {});
  sampled.check(2, 0, test::bytes(frame(0)), {});
  EXPECT_EQ(sampled.counts().checked, 2U);
  EXPECT_EQ(sampled.counts().mismatches, 1U);
  EXPECT_EQ(sampled.counts().stale, 0U);
}

/// Frames that are compared where they lie, and brought here only when they are wrong.
class HashCheckTest : public FrameCheckTest {
protected:
  void put(std::uint64_t sequence, std::uint32_t slot, const std::string& found, const std::string& later) {
    check.checkHash(sequence, slot, hashOf(test::bytes(found)), test::bytes(memory), [&] {
      ++reads;
      memory = later;
      return true;
    });
  }
  void put(std::uint64_t sequence, std::uint32_t slot, const std::string& found) {
    put(sequence, slot, found, found);
  }

  std::string memory = std::string(frameBytes, '-');
  int reads{};
};

TEST_F(HashCheckTest, RightFramesAreNotRead) {
  put(0, 0, frame(0));
  put(1, 1, frame(1));
  EXPECT_EQ(counts().checked, 2U);
  EXPECT_EQ(counts().mismatches, 0U);
  EXPECT_EQ(reads, 0);
}

TEST_F(HashCheckTest, AWrongByteIsFoundWhereItIs) {
  std::string wrong = frame(5);
  wrong[1234] = '?';
  put(5, 3, wrong);
  ASSERT_EQ(counts().first.size(), 1U);
  EXPECT_EQ(counts().first[0].offset, 1234U);
  EXPECT_EQ(counts().first[0].damage, Damage::Other);
}

TEST_F(HashCheckTest, TheFrameBeforeInTheSlotIsStale) {
  put(0, 2, frame(0));
  put(4, 2, frame(0));
  EXPECT_EQ(counts().stale, 1U);
}

TEST_F(HashCheckTest, WhatIsRightOnceItIsReadIsLate) {
  put(1, 0, frame(0), frame(1));
  EXPECT_EQ(counts().late, 1U);
}

TEST_F(HashCheckTest, AFrameThatCannotBeReadIsAMismatchAllTheSame) {
  check.checkHash(1, 0, 0, test::bytes(memory), [] { return false; });
  ASSERT_EQ(counts().mismatches, 1U);
  EXPECT_EQ(counts().first[0].offset, 0U);
  EXPECT_EQ(counts().first[0].damage, Damage::Other);
}

TEST_F(HashCheckTest, AFrameThatIsNotCheckedIsTaken) {
  FrameCheck none{*feed, {.kind = CheckMode::Kind::None}, slots};
  none.check(0, 0, {}, {});
  EXPECT_EQ(none.counts().checked, 0U);
}

} // namespace
} // namespace rdmagpu::cli
