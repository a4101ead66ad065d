#include "stream/run.hpp"

#include "stream/preloaded_feed.hpp"
#include "stream/read_ahead_feed.hpp"
#include "stream/report.hpp"
#include "support.hpp"

#include <rdmagpu/checksum.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

using test::Letters;

constexpr std::size_t frameBytes = 10000;
constexpr std::uint32_t slots = 4;
constexpr std::uint64_t frameCount = 50;

StreamSlots makeSlots() {
  StagedBufferConfig config;
  config.buffer.api = RdmaGpuApi::HostFallback;
  config.buffer.slotCount = slots;
  config.buffer.frameBytes = frameBytes;
  config.buffer.host.lock = PageLock::Off;
  auto made = StreamSlots::shared(config);
  EXPECT_TRUE(made);
  return *std::move(made);
}

/// Both directions, with frames from a reader and from memory, compared here or where they lie.
struct Way {
  const char* name;
  StreamEnd (*run)(const StreamParts&);
  bool preload;
  bool inPlace{};
};

class Run : public testing::TestWithParam<Way> {
protected:
  StreamEnd stream(Misbehaviour how = Misbehaviour::None, std::uint64_t at = 0,
                   std::size_t bytes = frameBytes, std::optional<InputError> failure = {}) {
    Letters reader(bytes, frameCount, std::move(failure));
    const FrameHash hash = GetParam().inPlace ? checksum : hashOf;
    std::unique_ptr<FrameFeed> feed;
    if(GetParam().preload)
      feed = *PreloadedFeed::load(reader, {}, 1, endless, frameCount, {}, hash);
    else
      feed = std::make_unique<ReadAheadFeed>(FrameSequence(reader, 1, endless), CheckMode{}, ring, stop,
                                             CopyingGpu{}, hash);
    std::vector<PeerSlot> seen;
    for(std::size_t i = 0; i < slots; ++i)
      seen.push_back({buffer.handoff(i), buffer.slot(i).size});
    SoftwarePeer peer = *SoftwarePeer::make({.slots = seen, .misbehaviour = how, .misbehaveAt = at});
    FrameCheck check(*feed, {}, slots, hash);
    CopyQueue queue = *CopyQueue::make(buffer);
    StreamEnd end = GetParam().run({.buffer = buffer,
                                    .queue = queue,
                                    .gpu = {},
                                    .ring = ring,
                                    .peer = peer,
                                    .feed = *feed,
                                    .check = check,
                                    .checksInPlace = GetParam().inPlace,
                                    .tally = tally,
                                    .stop = stop,
                                    .slots = shared});
    counts = check.counts();
    return end;
  }

  StreamSlots shared = makeSlots();
  const RdmaGpuBuffer& buffer = shared.application();
  SlotRing& ring = shared.ring();
  std::atomic<bool> stop{false};
  Tally tally;
  CheckCounts counts;
};

TEST_P(Run, EveryFrameComesThrough) {
  const StreamEnd end = stream();
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(tally.totals().frames, frameCount);
  EXPECT_EQ(tally.totals().bytes, frameCount * frameBytes);
  EXPECT_EQ(tally.latency().count(), frameCount);
  EXPECT_EQ(counts.checked, frameCount);
  EXPECT_EQ(counts.mismatches, 0U);
  EXPECT_GT(end.nanoseconds, 0);
  EXPECT_LE(tally.latency().max(), end.nanoseconds);
}

TEST_P(Run, ATornFrameIsFoundAndTheRestComesThrough) {
  const StreamEnd end = stream(Misbehaviour::Tear, 9);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(tally.totals().frames, frameCount);
  ASSERT_EQ(counts.mismatches, 1U);
  EXPECT_EQ(counts.first[0].frame, 9U);
  EXPECT_EQ(counts.first[0].offset, frameBytes / 2);
  EXPECT_EQ(counts.torn, 1U);
}

TEST_P(Run, APeerThatStopsIsNotWaitedFor) {
  const StreamEnd end = stream(Misbehaviour::Stop, 9);
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->kind, "PeerStopped");
  EXPECT_EQ(tally.totals().frames, 9U);
}

TEST_P(Run, AFrameLargerThanItsSlotIsTheLibrarysError) {
  const StreamEnd end = stream(Misbehaviour::None, 0, buffer.slot(0).size + 1);
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->codeName, "RangeOutOfSlot");
  EXPECT_EQ(tally.totals().frames, 0U);
}

/// An input that is read while the frames move; one that is preloaded fails before that.
class ReadingRun : public Run {};

TEST_P(ReadingRun, AnInputThatFailsIsToldAfterItsFrames) {
  const StreamEnd end =
      stream(Misbehaviour::None, 0, frameBytes, InputError{InputErrorKind::Truncated, "cut"});
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->message, "cut");
  EXPECT_EQ(tally.totals().frames, frameCount);
}

TEST_P(Run, TheStopFlagEndsItWithoutAFailure) {
  stop.store(true);
  const StreamEnd end = stream();
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(counts.mismatches, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ways, Run,
                         testing::Values(Way{"Capture", runCapture, false},
                                         Way{"CapturePreloaded", runCapture, true},
                                         Way{"CaptureInPlace", runCapture, false, true},
                                         Way{"CapturePreloadedInPlace", runCapture, true, true},
                                         Way{"Playout", runPlayout, false},
                                         Way{"PlayoutPreloaded", runPlayout, true}),
                         [](const auto& way) { return way.param.name; });

INSTANTIATE_TEST_SUITE_P(Ways, ReadingRun,
                         testing::Values(Way{"Capture", runCapture, false},
                                         Way{"CaptureInPlace", runCapture, false, true},
                                         Way{"Playout", runPlayout, false}),
                         [](const auto& way) { return way.param.name; });

TEST(MismatchFailure, NamesTheFirstAndCountsTheRest) {
  CheckCounts counts{.checked = 100, .mismatches = 9};
  for(std::uint64_t i = 0; i < 8; ++i)
    counts.first.push_back({.frame = i, .slot = 2, .offset = 7, .damage = Damage::Stale});
  const auto failure = mismatchFailure(counts);
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->message.find("9 of 100 checked frames are not"), std::string::npos);
  EXPECT_NE(failure->message.find("frame 7, slot 2, byte 7 (stale)"), std::string::npos);
  EXPECT_NE(failure->message.find("... 1 more"), std::string::npos);
  EXPECT_FALSE(mismatchFailure({}));
}

} // namespace
} // namespace rdmagpu::cli
