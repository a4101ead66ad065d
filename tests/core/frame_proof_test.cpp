#include <core/software_peer_fixture.hpp>
#include <rdmagpu/frame_proof.hpp>
#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

namespace rdmagpu {

inline void PrintTo(FrameFault fault, std::ostream* out) { *out << name(fault); }

namespace {

using namespace peertest;

constexpr std::size_t pageBytes = 4096;
constexpr std::size_t usual = 5 * pageBytes + 1001;

/// Slots, their proof, and a peer's writes into them.
class Proven {
public:
  explicit Proven(std::size_t frameBytes = usual, const FrameProofConfig& config = {})
      : m_bytes(frameBytes), m_buffer(hostBuffer(3, frameBytes)) {
    auto made = FrameProof::make(m_buffer, config);
    EXPECT_TRUE(made) << made.error().message();
    proof.emplace(*std::move(made));
  }

  std::span<std::byte> slot(std::uint32_t i) const {
    return {static_cast<std::byte*>(cpuAddress(m_buffer.handoff(i))), m_buffer.slot(i).size};
  }
  /// [from, to) of frame `n`.
  void write(std::uint32_t i, std::uint64_t n, std::size_t from, std::size_t to) const {
    const Bytes frame = frameOf(n, m_bytes);
    std::memcpy(slot(i).data() + from, frame.data() + from, to - from);
  }
  void write(std::uint32_t i, std::uint64_t n = 0) const { write(i, n, 0, m_bytes); }
  void change(std::uint32_t i, std::size_t offset) const { slot(i)[offset] = ~slot(i)[offset]; }
  /// A whole frame, as it should be.
  void pass(std::uint32_t i, std::uint64_t n = 0) {
    EXPECT_EQ(proof->arm(i).fault, FrameFault::None);
    write(i, n);
    EXPECT_EQ(check(i).fault, FrameFault::None);
  }
  FrameFinding check(std::uint32_t i) { return proof->check(i, m_bytes); }

  std::optional<FrameProof> proof;

private:
  const std::size_t m_bytes;
  const RdmaGpuBuffer m_buffer;
};

class FrameProofSizes : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(, FrameProofSizes,
                         testing::Values(8, 9, 15, 16, 17, 4095, 4096, 4097, 4103, 8191, 8192, 8200, 65535,
                                         65536, usual, std::size_t{2} << 20),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(FrameProofSizes, WholeFramesAreFine) {
  Proven slots(GetParam());
  for(std::uint64_t n = 0; n < 20; ++n)
    slots.pass(static_cast<std::uint32_t>(n % 3), n);
  EXPECT_EQ(slots.proof->counters().checked, 20U);
  EXPECT_EQ(slots.proof->counters().faults(), 0U);
}

TEST_P(FrameProofSizes, TheSameFrameAgainIsFine) {
  Proven slots(GetParam());
  for(int n = 0; n < 5; ++n)
    slots.pass(1, 7);
  EXPECT_EQ(slots.proof->counters().faults(), 0U);
}

TEST_P(FrameProofSizes, NothingWrittenIsStale) {
  Proven slots(GetParam());
  slots.pass(0);
  slots.proof->arm(0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  EXPECT_EQ(slots.proof->counters().stale, 1U);
}

TEST_P(FrameProofSizes, MissingEndIsTorn) {
  const std::size_t bytes = GetParam();
  Proven slots(bytes);
  slots.proof->arm(0);
  slots.write(0, 0, 0, bytes - 8);
  const FrameFinding found = slots.check(0);
  EXPECT_EQ(found.fault, bytes < 16 ? FrameFault::Stale : FrameFault::Torn); // one canary, or more
  EXPECT_EQ(found.offset, bytes - 8);
}

TEST(FrameProof, MissingStartIsTorn) {
  for(const std::size_t bytes : {std::size_t{16}, std::size_t{17}, pageBytes, 2 * pageBytes + 8, usual}) {
    Proven slots(bytes);
    slots.proof->arm(0);
    slots.write(0, 0, 8, bytes);
    EXPECT_EQ(slots.check(0).fault, FrameFault::Torn) << bytes;
  }
}

TEST(FrameProof, ByteBehindTheFrameIsAtTheWrongOffset) {
  for(const std::size_t bytes :
      {std::size_t{8}, std::size_t{15}, pageBytes - 1, pageBytes, usual, std::size_t{65535}}) {
    Proven slots(bytes);
    slots.proof->arm(0);
    slots.write(0);
    slots.change(0, bytes);
    const FrameFinding found = slots.check(0);
    EXPECT_EQ(found.fault, FrameFault::WrongOffset) << bytes;
    EXPECT_EQ(found.offset, bytes);
  }
}

TEST(FrameProof, EveryPageBehindTheFrameIsWatched) {
  Proven slots;
  for(std::size_t end = slots.slot(0).size(); end - pageBytes > usual; end -= pageBytes) {
    slots.proof->arm(0);
    slots.write(0);
    std::ranges::fill(slots.slot(0).subspan(end - pageBytes, pageBytes), std::byte{1});
    EXPECT_EQ(slots.check(0).fault, FrameFault::WrongOffset) << end;
  }
}

TEST(FrameProof, EveryMissingPageIsFoundWhereItIs) {
  Proven slots;
  for(std::size_t page = 0; page < usual / pageBytes; ++page) {
    slots.proof->arm(0);
    slots.write(0, page, 0, page * pageBytes);
    slots.write(0, page, (page + 1) * pageBytes, usual);
    const FrameFinding found = slots.check(0);
    EXPECT_EQ(found.fault, FrameFault::Torn);
    EXPECT_EQ(found.offset / pageBytes, page);
  }
}

/// One line of a page: with one place looked at in each page it is found sooner or later.
TEST(FrameProof, SeedsLookAtDifferentPlaces) {
  int found = 0;
  constexpr int seeds = 400;
  for(std::uint64_t seed = 0; seed < seeds; ++seed) {
    Proven slots(usual, {.seed = seed});
    slots.proof->arm(0);
    slots.write(0, 0, 0, pageBytes + 512);
    slots.write(0, 0, pageBytes + 1024, usual);
    found += slots.check(0).fault == FrameFault::Torn ? 1 : 0;
  }
  EXPECT_GT(found, seeds / 16); // an eighth is to be expected
  EXPECT_LT(found, seeds / 4);
}

TEST(FrameProof, PartThatComesTooLateIsTornAndThenLate) {
  Proven slots;
  slots.proof->arm(0);
  slots.write(0, 0, 0, usual - 64);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Torn);
  slots.write(0);
  const FrameFinding found = slots.proof->arm(0);
  EXPECT_EQ(found.fault, FrameFault::Late);
  EXPECT_EQ(found.offset, usual - 8);
}

TEST(FrameProof, FrameThatComesTooLateIsStaleAndThenLate) {
  Proven slots;
  slots.proof->arm(0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  slots.write(0);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Late);
}

TEST(FrameProof, EndThatChangesAfterwardsIsLate) {
  Proven slots;
  slots.pass(0);
  slots.change(0, usual - 1);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Late);
  EXPECT_EQ(slots.proof->counters().late, 1U);
}

TEST(FrameProof, WriteOverTheEndOfTheSlotBeforeIsAtTheWrongOffset) {
  Proven slots;
  slots.pass(1);
  std::ranges::fill(slots.slot(1).first(64), std::byte{0});
  const FrameFinding found = slots.proof->arm(1);
  EXPECT_EQ(found.fault, FrameFault::WrongOffset);
  EXPECT_EQ(found.offset, 0U);
}

TEST(FrameProof, FrameInAnotherSlotIsStaleHereAndAtTheWrongOffsetThere) {
  Proven slots;
  slots.pass(0, 1);
  slots.pass(1, 2);
  slots.proof->arm(0);
  slots.write(1, 3);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  EXPECT_EQ(slots.proof->arm(1).fault, FrameFault::WrongOffset);
}

TEST(FrameProof, WriteBehindTheFrameAfterwardsIsAtTheWrongOffset) {
  Proven slots;
  slots.pass(2);
  slots.change(2, usual);
  EXPECT_EQ(slots.proof->arm(2).fault, FrameFault::WrongOffset);
}

TEST(FrameProof, SlotThatNobodyHasHadYetIsWatched) {
  Proven slots;
  slots.write(2);
  EXPECT_EQ(slots.proof->arm(2).fault, FrameFault::WrongOffset);
}

TEST(FrameProof, SlotThatCameBackUncheckedSaysNothing) {
  Proven slots;
  slots.proof->arm(0);
  slots.write(0, 0, 0, 100);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->counters().faults(), 0U);
}

TEST(FrameProof, FewerBytesThanAFrameAreShort) {
  Proven slots;
  slots.proof->arm(0);
  slots.write(0, 0, 0, 5000);
  const FrameFinding found = slots.proof->check(0, 5000);
  EXPECT_EQ(found.fault, FrameFault::Short);
  EXPECT_EQ(found.offset, 5000U);
  EXPECT_EQ(slots.proof->counters().shortFrames, 1U);
}

TEST(FrameProof, FramesOfAnySizeMayBeWanted) {
  Proven slots(usual, {.wholeFrames = false});
  for(const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{5000}, usual}) {
    slots.proof->arm(0);
    slots.write(0, bytes, 0, bytes);
    EXPECT_EQ(slots.proof->check(0, bytes).fault, FrameFault::None) << bytes;
  }
  slots.proof->arm(0);
  slots.write(0, 0, 0, 3 * pageBytes);
  EXPECT_EQ(slots.proof->check(0, 5 * pageBytes).fault, FrameFault::Torn);
}

TEST(FrameProof, SecondCheckRepeatsTheFirst) {
  Proven slots;
  slots.proof->arm(0);
  slots.write(0, 0, 0, 100);
  const FrameFinding first = slots.check(0);
  slots.write(0);
  const FrameFinding second = slots.check(0);
  EXPECT_EQ(second.fault, FrameFault::Torn);
  EXPECT_EQ(second.offset, first.offset);
  EXPECT_EQ(slots.proof->finding(0).fault, FrameFault::Torn);
  EXPECT_EQ(slots.proof->counters().checked, 1U);
  slots.proof->arm(0);
  EXPECT_EQ(slots.proof->finding(0).fault, FrameFault::None);
}

TEST(FrameProof, RecheckFindsWhatCameAfterwardsOnceAndLaysNothing) {
  Proven slots;
  slots.pass(0);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None);
  slots.change(0, usual - 1);
  const Bytes before(slots.slot(0).begin(), slots.slot(0).end());
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::Late);
  EXPECT_TRUE(std::ranges::equal(slots.slot(0), before));
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  slots.change(0, usual - 1);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None) << "it is with the peer";
  EXPECT_EQ(slots.proof->counters().late, 1U);
}

TEST(FrameProof, LogHearsOfTheFirstFaultOfAKind) {
  Proven slots;
  const test::LogCapture log;
  for(int n = 0; n < 3; ++n) {
    slots.proof->arm(1);
    slots.check(1);
  }
  slots.proof->arm(1);
  slots.write(1, 0, 0, 100);
  slots.check(1);
  ASSERT_EQ(log.errors().size(), 2U);
  expectCode(log.errors()[0], LibraryCode::FrameStale);
  EXPECT_EQ(log.errors()[0].slot, 1);
  expectCode(log.errors()[1], LibraryCode::FrameTorn);
  EXPECT_NE(log.texts()[1].find("torn"), std::string::npos);
  EXPECT_EQ(slots.proof->counters().stale, 3U);
}

TEST(FrameProof, SlotsBeyondTheLastAndMovedFromProofsFindNothing) {
  Proven slots;
  EXPECT_EQ(slots.proof->arm(3).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->check(3, 0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->recheck(3).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->finding(3).fault, FrameFault::None);
  FrameProof other = std::move(*slots.proof);
  // NOLINTBEGIN(bugprone-use-after-move): what is tested
  EXPECT_EQ(slots.proof->slotCount(), 0U);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->counters().checked, 0U);
  EXPECT_EQ(slots.proof->onFault(), FaultPolicy::Report);
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(other.slotCount(), 3U);
}

TEST(FrameProof, HoldsTheMemory) {
  RdmaGpuBuffer buffer = hostBuffer(2, usual);
  auto proof = FrameProof::make(buffer);
  ASSERT_TRUE(proof);
  buffer.destroy();
  proof->arm(0);
  EXPECT_EQ(proof->check(0, usual).fault, FrameFault::Stale);
}

TEST(FrameProof, BadRequestsAreRefused) {
  const auto errorFor = [](const RdmaGpuBuffer& slots) {
    const auto proof = FrameProof::make(slots);
    EXPECT_FALSE(proof);
    return proof ? Error{} : proof.error();
  };
  expectCode(errorFor(RdmaGpuBuffer{}), LibraryCode::BufferEmpty);
  const Error small = errorFor(hostBuffer(1, 7));
  expectCode(small, LibraryCode::FrameTooSmallToProve);
  EXPECT_EQ(small.bytes, 7U);
}

TEST(FrameProof, NamesAreWhatTheProgramPrints) {
  EXPECT_STREQ(name(FrameFault::None), "none");
  EXPECT_STREQ(name(FrameFault::Stale), "stale");
  EXPECT_STREQ(name(FrameFault::Torn), "torn");
  EXPECT_STREQ(name(FrameFault::Late), "late");
  EXPECT_STREQ(name(FrameFault::WrongOffset), "wrong-offset");
  EXPECT_STREQ(name(FrameFault::Short), "short");
  EXPECT_STREQ(name(static_cast<FrameFault>(99)), "?");
}

} // namespace
} // namespace rdmagpu
