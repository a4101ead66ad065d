#pragma once
#include <core/software_peer_fixture.hpp>
#include <rdmagpu/frame_proof.hpp>
#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <thread>

/// What FrameProof promises of slots, wherever they lie, written once. A program of tests instantiates it
/// with a config, of which the slots and their size are set here. On a GPU it is what proves the kernel.
namespace rdmagpu {

inline void PrintTo(FrameFault fault, std::ostream* out) { *out << name(fault); }

namespace prooftest {

using namespace peertest;

constexpr std::size_t pageBytes = 4096;
constexpr std::size_t usual = 5 * pageBytes + 1001;
constexpr std::array<std::size_t, 16> sizes{
    8, 9, 15, 16, 17, 4095, 4096, 4097, 4103, 8191, 8192, 8200, 65535, 65536, usual, std::size_t{2} << 20};

inline RdmaGpuBuffer makeSlots(RdmaGpuBufferConfig config, std::size_t frameBytes) {
  config.slotCount = 3;
  config.frameBytes = frameBytes;
  auto buffer = RdmaGpuBuffer::make(config);
  EXPECT_TRUE(buffer) << buffer.error().message();
  return *std::move(buffer);
}

inline FrameProof makeProof(const RdmaGpuBuffer& slots, const FrameProofConfig& config = {}) {
  auto made = FrameProof::make(slots, config);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

/// Slots, their proof, and a peer's writes into them.
class Proven {
public:
  explicit Proven(const RdmaGpuBufferConfig& memory, std::size_t frameBytes = usual,
                  const FrameProofConfig& config = {})
      : m_bytes(frameBytes), m_buffer(makeSlots(memory, frameBytes)), proof(makeProof(m_buffer, config)) {}

  std::size_t slotBytes() const { return m_buffer.slot(0).size; }
  Bytes contents(std::uint32_t i) const { return inSlot(m_buffer, i, slotBytes()); }
  void put(std::uint32_t i, const Bytes& bytes, std::size_t offset) const {
    const auto written = m_buffer.upload(i, bytes, offset);
    EXPECT_TRUE(written) << written.error().message();
  }
  /// [from, to) of frame `n`.
  void write(std::uint32_t i, std::uint64_t n, std::size_t from, std::size_t to) const {
    put(i, part(frameOf(n, m_bytes), from, to), from);
  }
  void write(std::uint32_t i, std::uint64_t n = 0) const { write(i, n, 0, m_bytes); }
  void change(std::uint32_t i, std::size_t offset) const {
    put(i, {~inSlot(m_buffer, i, 1, offset).front()}, offset);
  }
  /// A whole frame, as it should be.
  void pass(std::uint32_t i, std::uint64_t n = 0) {
    EXPECT_EQ(proof->arm(i).fault, FrameFault::None);
    write(i, n);
    EXPECT_EQ(check(i).fault, FrameFault::None);
  }
  FrameFinding check(std::uint32_t i) { return proof->check(i, m_bytes); }

private:
  const std::size_t m_bytes;
  const RdmaGpuBuffer m_buffer;

public:
  std::optional<FrameProof> proof;
};

class FrameProofContract : public testing::TestWithParam<RdmaGpuBufferConfig> {};

TEST_P(FrameProofContract, WholeFramesAreFine) {
  for(const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Proven slots(GetParam(), bytes);
    for(std::uint64_t n = 0; n < 20; ++n)
      slots.pass(static_cast<std::uint32_t>(n % 3), n);
    EXPECT_EQ(slots.proof->counters().checked, 20U);
    EXPECT_EQ(slots.proof->counters().faults(), 0U);
  }
}

TEST_P(FrameProofContract, TheSameFrameAgainIsFine) {
  for(const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Proven slots(GetParam(), bytes);
    for(int n = 0; n < 5; ++n)
      slots.pass(1, 7);
    EXPECT_EQ(slots.proof->counters().faults(), 0U);
  }
}

TEST_P(FrameProofContract, NothingWrittenIsStale) {
  for(const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Proven slots(GetParam(), bytes);
    slots.pass(0);
    slots.proof->arm(0);
    EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
    EXPECT_EQ(slots.proof->counters().stale, 1U);
  }
}

TEST_P(FrameProofContract, MissingEndIsTorn) {
  for(const std::size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    Proven slots(GetParam(), bytes);
    slots.proof->arm(0);
    slots.write(0, 0, 0, bytes - 8);
    const FrameFinding found = slots.check(0);
    EXPECT_EQ(found.fault, bytes < 16 ? FrameFault::Stale : FrameFault::Torn); // one canary, or more
    EXPECT_EQ(found.offset, bytes - 8);
  }
}

TEST_P(FrameProofContract, MissingStartIsTorn) {
  for(const std::size_t bytes : {std::size_t{16}, std::size_t{17}, pageBytes, 2 * pageBytes + 8, usual}) {
    Proven slots(GetParam(), bytes);
    slots.proof->arm(0);
    slots.write(0, 0, 8, bytes);
    EXPECT_EQ(slots.check(0).fault, FrameFault::Torn) << bytes;
  }
}

TEST_P(FrameProofContract, ByteBehindTheFrameIsAtTheWrongOffset) {
  for(const std::size_t bytes :
      {std::size_t{8}, std::size_t{15}, pageBytes - 1, pageBytes, usual, std::size_t{65535}}) {
    Proven slots(GetParam(), bytes);
    slots.proof->arm(0);
    slots.write(0);
    slots.change(0, bytes);
    const FrameFinding found = slots.check(0);
    EXPECT_EQ(found.fault, FrameFault::WrongOffset) << bytes;
    EXPECT_EQ(found.offset, bytes);
  }
}

TEST_P(FrameProofContract, EveryPageBehindTheFrameIsWatched) {
  Proven slots(GetParam());
  for(std::size_t end = slots.slotBytes(); end - pageBytes > usual; end -= pageBytes) {
    slots.proof->arm(0);
    slots.write(0);
    slots.put(0, Bytes(pageBytes, std::byte{1}), end - pageBytes);
    EXPECT_EQ(slots.check(0).fault, FrameFault::WrongOffset) << end;
  }
}

TEST_P(FrameProofContract, EveryMissingPageIsFoundWhereItIs) {
  Proven slots(GetParam());
  for(std::size_t page = 0; page < usual / pageBytes; ++page) {
    slots.proof->arm(0);
    slots.write(0, page, 0, page * pageBytes);
    slots.write(0, page, (page + 1) * pageBytes, usual);
    const FrameFinding found = slots.check(0);
    EXPECT_EQ(found.fault, FrameFault::Torn);
    EXPECT_EQ(found.offset / pageBytes, page);
  }
}

TEST_P(FrameProofContract, PartThatComesTooLateIsTornAndThenLate) {
  Proven slots(GetParam());
  slots.proof->arm(0);
  slots.write(0, 0, 0, usual - 64);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Torn);
  slots.write(0);
  const FrameFinding found = slots.proof->arm(0);
  EXPECT_EQ(found.fault, FrameFault::Late);
  EXPECT_EQ(found.offset, usual - 8);
}

TEST_P(FrameProofContract, FrameThatComesTooLateIsStaleAndThenLate) {
  Proven slots(GetParam());
  slots.proof->arm(0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  slots.write(0);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Late);
}

TEST_P(FrameProofContract, EndThatChangesAfterwardsIsLate) {
  Proven slots(GetParam());
  slots.pass(0);
  slots.change(0, usual - 1);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Late);
  EXPECT_EQ(slots.proof->counters().late, 1U);
}

TEST_P(FrameProofContract, WriteOverTheEndOfTheSlotBeforeIsAtTheWrongOffset) {
  Proven slots(GetParam());
  slots.pass(1);
  slots.put(1, Bytes(64), 0);
  const FrameFinding found = slots.proof->arm(1);
  EXPECT_EQ(found.fault, FrameFault::WrongOffset);
  EXPECT_EQ(found.offset, 0U);
}

TEST_P(FrameProofContract, FrameInAnotherSlotIsStaleHereAndAtTheWrongOffsetThere) {
  Proven slots(GetParam());
  slots.pass(0, 1);
  slots.pass(1, 2);
  slots.proof->arm(0);
  slots.write(1, 3);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  EXPECT_EQ(slots.proof->arm(1).fault, FrameFault::WrongOffset);
}

TEST_P(FrameProofContract, WriteBehindTheFrameAfterwardsIsAtTheWrongOffset) {
  Proven slots(GetParam());
  slots.pass(2);
  slots.change(2, usual);
  EXPECT_EQ(slots.proof->arm(2).fault, FrameFault::WrongOffset);
}

TEST_P(FrameProofContract, SlotThatNobodyHasHadYetIsWatched) {
  Proven slots(GetParam());
  slots.write(2);
  EXPECT_EQ(slots.proof->arm(2).fault, FrameFault::WrongOffset);
}

TEST_P(FrameProofContract, SlotThatCameBackUncheckedSaysNothing) {
  Proven slots(GetParam());
  slots.proof->arm(0);
  slots.write(0, 0, 0, 100);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->counters().faults(), 0U);
}

TEST_P(FrameProofContract, FewerBytesThanAFrameAreShort) {
  Proven slots(GetParam());
  slots.proof->arm(0);
  slots.write(0, 0, 0, 5000);
  const FrameFinding found = slots.proof->check(0, 5000);
  EXPECT_EQ(found.fault, FrameFault::Short);
  EXPECT_EQ(found.offset, 5000U);
  EXPECT_EQ(slots.proof->counters().shortFrames, 1U);
}

TEST_P(FrameProofContract, FramesOfAnySizeMayBeWanted) {
  Proven slots(GetParam(), usual, {.wholeFrames = false});
  for(const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{5000}, usual}) {
    slots.proof->arm(0);
    slots.write(0, bytes, 0, bytes);
    EXPECT_EQ(slots.proof->check(0, bytes).fault, FrameFault::None) << bytes;
  }
  slots.proof->arm(0);
  slots.write(0, 0, 0, 3 * pageBytes);
  EXPECT_EQ(slots.proof->check(0, 5 * pageBytes).fault, FrameFault::Torn);
}

TEST_P(FrameProofContract, SecondCheckRepeatsTheFirst) {
  Proven slots(GetParam());
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

TEST_P(FrameProofContract, RecheckFindsWhatCameAfterwardsOnceAndLaysNothing) {
  Proven slots(GetParam());
  slots.pass(0);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None);
  slots.change(0, usual - 1);
  const Bytes before = slots.contents(0);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::Late);
  EXPECT_TRUE(slots.contents(0) == before);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  slots.change(0, usual - 1);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None) << "it is with the peer";
  EXPECT_EQ(slots.proof->counters().late, 1U);
}

TEST_P(FrameProofContract, CheckThatWasStartedTellsWhatItWouldHave) {
  Proven slots(GetParam());
  for(std::uint64_t n = 0; n < 20; ++n) {
    const auto slot = static_cast<std::uint32_t>(n % 3);
    const std::size_t until = n % 4 == 0 ? usual / 2 : usual;
    slots.proof->arm(slot);
    slots.write(slot, n, 0, until);
    slots.proof->startCheck(slot, usual);
    slots.proof->startCheck(slot, usual); // it has been
    EXPECT_EQ(slots.check(slot).fault, until < usual ? FrameFault::Torn : FrameFault::None);
    EXPECT_EQ(slots.proof->finding(slot).fault, until < usual ? FrameFault::Torn : FrameFault::None);
  }
  EXPECT_EQ(slots.proof->counters().checked, 20U);
  EXPECT_EQ(slots.proof->counters().torn, 5U);
}

TEST_P(FrameProofContract, CheckIsOfTheBytesThatItWasStartedWith) {
  Proven slots(GetParam());
  slots.proof->arm(0);
  slots.write(0, 0, 0, 5000);
  slots.proof->startCheck(0, 5000);
  const FrameFinding found = slots.check(0);
  EXPECT_EQ(found.fault, FrameFault::Short);
  EXPECT_EQ(found.offset, 5000U);
}

TEST_P(FrameProofContract, CheckThatNobodyAsksForIsCountedWithTheSlotsNextCall) {
  Proven slots(GetParam());
  const auto stale = [&] {
    slots.proof->arm(0);
    slots.proof->startCheck(0, usual);
  };
  stale();
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None) << "nothing came since";
  EXPECT_EQ(slots.proof->counters().stale, 1U);
  stale();
  slots.proof->startArm(0);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->counters().stale, 2U);
  stale();
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->counters().stale, 3U);
  EXPECT_EQ(slots.proof->counters().checked, 3U);
  EXPECT_EQ(slots.proof->counters().faults(), 3U);
}

TEST_P(FrameProofContract, SlotThatIsArmedAheadIsProvenLikeAnyOther) {
  Proven slots(GetParam());
  for(std::uint32_t n = 0; n < 12; ++n) {
    const std::uint32_t slot = n % 3;
    slots.proof->startArm(slot);
    slots.proof->startArm(slot); // it has been
    slots.pass(slot, n);
  }
  slots.proof->startArm(0);
  slots.proof->arm(0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  EXPECT_EQ(slots.proof->counters().faults(), 1U);
}

TEST_P(FrameProofContract, ChangeUntilTheSlotIsBeingArmedIsLate) {
  Proven slots(GetParam());
  slots.pass(0);
  slots.change(0, usual - 1);
  slots.proof->startArm(0);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Late);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
}

TEST_P(FrameProofContract, SlotThatIsBeingArmedCanBeLookedAtAgain) {
  Proven slots(GetParam());
  slots.pass(0);
  slots.change(0, usual - 1);
  slots.proof->startArm(0);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::Late) << "what came before";
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::None);
  slots.change(0, 0);
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::WrongOffset);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
}

TEST_P(FrameProofContract, SlotThatThePeerGaveUpMayBeArmedAhead) {
  Proven slots(GetParam());
  slots.proof->arm(0);
  slots.write(0, 0, 0, 100);
  slots.proof->startArm(0);
  EXPECT_EQ(slots.check(0).fault, slots.proof->armsAhead() ? FrameFault::Stale : FrameFault::Torn)
      << "without arm() before it";
  slots.pass(0);
}

TEST_P(FrameProofContract, OtherSlotIsArmedWhileOneIsChecked) {
  Proven slots(GetParam());
  slots.pass(1);
  slots.change(1, usual - 1);
  slots.proof->arm(0);
  slots.write(0);
  slots.proof->startCheck(0, usual, 1);
  EXPECT_EQ(slots.check(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->arm(1).fault, FrameFault::Late);
  EXPECT_EQ(slots.check(1).fault, FrameFault::Stale);
  slots.proof->startCheck(1, usual, 2);
  EXPECT_EQ(slots.check(1).fault, FrameFault::Stale) << "repeated";
  slots.pass(2);
  slots.proof->arm(0);
  slots.proof->startCheck(0, usual, 0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  EXPECT_EQ(slots.proof->counters().faults(), 3U);
}

TEST_P(FrameProofContract, CheckMayBeStartedByOneThreadAndFinishedByAnother) {
  Proven slots(GetParam());
  std::uint32_t faults{};
  for(std::uint64_t n = 0; n < 20; ++n) {
    slots.proof->arm(0);
    slots.write(0, n);
    slots.proof->startCheck(0, usual, 1);
    std::thread{[&] { faults += slots.check(0).fault != FrameFault::None; }}.join();
    slots.pass(1, n);
  }
  EXPECT_EQ(faults, 0U);
  EXPECT_EQ(slots.proof->counters().checked, 40U);
}

TEST_P(FrameProofContract, LogHearsOfTheFirstFaultOfAKind) {
  Proven slots(GetParam());
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

TEST_P(FrameProofContract, SlotsBeyondTheLastAndMovedFromProofsFindNothing) {
  Proven slots(GetParam());
  EXPECT_EQ(slots.proof->arm(3).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->check(3, 0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->recheck(3).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->finding(3).fault, FrameFault::None);
  slots.proof->startArm(3);
  slots.proof->startCheck(3, 0, FrameProof::noSlot);
  EXPECT_EQ(slots.proof->counters().checked, 0U);
  FrameProof other = std::move(*slots.proof);
  // NOLINTBEGIN(bugprone-use-after-move): what is tested
  EXPECT_EQ(slots.proof->slotCount(), 0U);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None);
  slots.proof->startArm(0);
  slots.proof->startCheck(0, usual, 1);
  EXPECT_FALSE(slots.proof->armsAhead());
  EXPECT_EQ(slots.proof->counters().checked, 0U);
  EXPECT_EQ(slots.proof->onFault(), FaultPolicy::Report);
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(other.slotCount(), 3U);
}

TEST_P(FrameProofContract, HoldsTheMemory) {
  RdmaGpuBuffer buffer = makeSlots(GetParam(), usual);
  auto proof = FrameProof::make(buffer);
  ASSERT_TRUE(proof);
  buffer.destroy();
  proof->arm(0);
  EXPECT_EQ(proof->check(0, usual).fault, FrameFault::Stale);
}

} // namespace prooftest
} // namespace rdmagpu
