// Each way in which the software peer does wrong is found, and a healthy one is never blamed.
#include <core/staged_buffer_fixture.hpp>
#include <rdmagpu/frame_proof.hpp>
#include <support/log_capture.hpp>
#include <support/sanitizer.hpp>
#include <support/semaphore.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::stagedtest {
namespace {

constexpr std::uint64_t frames = 12;
constexpr std::uint64_t wrongAt = 5;

struct Expected {
  std::uint64_t stale{};
  std::uint64_t torn{};
  std::uint64_t late{};
  std::uint64_t wrongOffset{};
};

/// A peer that captures into proven slots. It writes a frame once the one before was given back, so that what
/// it does to other slots meets free ones.
class ProvenPeer : public testing::TestWithParam<SlotPath> {
protected:
  FrameProofCounters capture(Misbehaviour how, std::size_t bytes, FaultPolicy onFault = FaultPolicy::Report) {
    StagedBufferConfig config = hostConfig(GetParam());
    config.buffer.frameBytes = bytes;
    config.proof = FrameProofConfig{.onFault = onFault};
    m_staged.emplace(makeStaged(config));
    test::Semaphore givenBack{1};
    Frames source(frames, bytes, [&](std::uint64_t n) {
      if(n < (how == Misbehaviour::Stop ? wrongAt : frames))
        givenBack.acquire();
    });
    SoftwarePeer peer = makePeer(m_staged->peerBuffer(), {.misbehaviour = how, .misbehaveAt = wrongAt});
    EXPECT_TRUE(peer.startCapture(m_staged->ring(), source));
    // The frame that is dropped is not taken, and the next one must be written all the same.
    if(onFault == FaultPolicy::Drop)
      givenBack.release();
    for(RingStatus status{}; status != RingStatus::Closed;) {
      RingFrame frame;
      status = m_staged->ring().take(frame, std::chrono::milliseconds{50});
      if(status == RingStatus::Empty && peer.counters().finished && allTaken())
        break; // it has stopped without a word
      if(status != RingStatus::Ok)
        continue;
      m_faults[frame.sequence] = frame.fault;
      m_staged->ring().release(frame.slot);
      givenBack.release();
    }
    peer.stop();
    m_staged->close();
    return m_staged->proofCounters().value();
  }
  void expect(const FrameProofCounters& found, const Expected& expected) {
    EXPECT_EQ(found.stale, expected.stale);
    EXPECT_EQ(found.torn, expected.torn);
    EXPECT_EQ(found.late, expected.late);
    EXPECT_EQ(found.wrongOffset, expected.wrongOffset);
    EXPECT_EQ(found.shortFrames, 0U);
  }
  RingCounters ringCounters() { return m_staged->ring().counters(); }
  bool allTaken() { return ringCounters().taken + ringCounters().drops == ringCounters().published; }

  std::array<FrameFault, frames> m_faults{};

private:
  std::optional<StagedBuffer> m_staged;
};

INSTANTIATE_TEST_SUITE_P(, ProvenPeer, testing::Values(SlotPath::Direct, SlotPath::Staged),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(ProvenPeer, HealthyOneHasNoFault) {
  const FrameProofCounters found = capture(Misbehaviour::None, frameBytes);
  EXPECT_EQ(found.checked, frames);
  expect(found, {});
}

TEST_P(ProvenPeer, OneThatStopsLeavesGoodFrames) {
  const FrameProofCounters found = capture(Misbehaviour::Stop, frameBytes);
  EXPECT_EQ(found.checked, wrongAt);
  expect(found, {});
}

TEST_P(ProvenPeer, TornFrameIsFound) {
  expect(capture(Misbehaviour::Tear, frameBytes), {.torn = 1});
  EXPECT_EQ(m_faults[wrongAt], FrameFault::Torn);
  EXPECT_EQ(m_faults[wrongAt + 1], FrameFault::None);
}

TEST_P(ProvenPeer, TornFrameIsDroppedAndNoOther) {
  expect(capture(Misbehaviour::Tear, frameBytes, FaultPolicy::Drop), {.torn = 1});
  EXPECT_EQ(ringCounters().drops, 1U);
  EXPECT_EQ(ringCounters().taken, frames - 1);
}

TEST_P(ProvenPeer, LateEndIsFoundTwice) {
  expect(capture(Misbehaviour::WriteLate, frameBytes), {.torn = 1, .late = 1});
  EXPECT_EQ(m_faults[wrongAt], FrameFault::Torn);
}

TEST_P(ProvenPeer, ByteBehindTheFrameIsFound) {
  expect(capture(Misbehaviour::Overrun, frameBytes), {.wrongOffset = 1});
  EXPECT_EQ(m_faults[wrongAt], FrameFault::WrongOffset);
}

TEST_P(ProvenPeer, OverrunIntoTheNextSlotIsFound) {
  expect(capture(Misbehaviour::OverrunSlot, 2 * std::size_t{65536}), {.wrongOffset = 1});
}

TEST_P(ProvenPeer, FrameInTheWrongSlotIsFoundInBoth) {
  expect(capture(Misbehaviour::WrongSlot, frameBytes), {.stale = 1, .wrongOffset = 1});
  EXPECT_EQ(m_faults[wrongAt], FrameFault::Stale);
}

TEST_P(ProvenPeer, MemoryThatMovedAwayIsFoundFromThereOn) {
  expect(capture(Misbehaviour::Migrate, frameBytes), {.stale = frames - wrongAt});
  EXPECT_EQ(m_faults[wrongAt - 1], FrameFault::None);
  EXPECT_EQ(m_faults[frames - 1], FrameFault::Stale);
}

/// On a direct path with another in reserve. Not with what hits frames that nobody has read yet: nothing can
/// bring those back.
class FailingOver : public testing::TestWithParam<Misbehaviour> {};

std::string wayName(const testing::TestParamInfo<Misbehaviour>& tested) {
  return tested.param == Misbehaviour::Tear      ? "Tear"
         : tested.param == Misbehaviour::Overrun ? "Overrun"
                                                 : "Migrate";
}

INSTANTIATE_TEST_SUITE_P(, FailingOver,
                         testing::Values(Misbehaviour::Tear, Misbehaviour::Overrun, Misbehaviour::Migrate),
                         wayName);

TEST_P(FailingOver, EveryFrameArrives) {
  StagedBufferConfig config = hostConfig(SlotPath::Direct);
  config.proof = FrameProofConfig{.onFault = FaultPolicy::FailOver};
  config.sliceBytes = 0; // measured, which must not look like a fault
  StagedBuffer staged = makeStaged(config);
  EXPECT_EQ(staged.path(), SlotPath::Direct);
  Frames source(frames, frameBytes);
  std::vector<PeerSlot> direct;
  for(std::uint32_t i = 0; i < staged.ring().slotCount(); ++i)
    direct.push_back({staged.handoff(i), staged.applicationBuffer().slot(i).size});
  SoftwarePeer peer =
      *SoftwarePeer::make({.slots = direct,
                           .misbehaviour = GetParam(),
                           .misbehaveAt = wrongAt,
                           .slotNow = [&](std::uint32_t slot) {
                             return PeerSlot{staged.handoff(slot), staged.peerBuffer().slot(slot).size};
                           }});
  const test::LogCapture log;
  ASSERT_TRUE(peer.startCapture(staged.ring(), source));
  for(std::uint64_t n = 0; n < frames; ++n) {
    const RingFrame frame = peertest::takeNext(staged.ring());
    EXPECT_EQ(frame.sequence, n);
    EXPECT_EQ(frame.fault, FrameFault::None);
    EXPECT_TRUE(inApplication(staged, frame) == frameOf(n, frameBytes));
    staged.ring().release(frame.slot);
  }
  peer.wait();
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
  EXPECT_EQ(staged.path(), SlotPath::Staged);
  EXPECT_EQ(staged.ring().counters().drops, 0U);
  EXPECT_GE(staged.proofCounters()->faults(), 1U);
  int told = 0;
  for(const std::string& text : log.texts())
    told += text.find("from now on") != std::string::npos ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST(FailingOverConfig, HealthyPeerStaysOnTheDirectPath) {
  StagedBufferConfig config = hostConfig(SlotPath::Direct);
  config.proof = FrameProofConfig{.onFault = FaultPolicy::FailOver};
  config.sliceBytes = 0;
  StagedBuffer staged = makeStaged(config);
  Frames source(frames, frameBytes);
  std::vector<PeerSlot> direct;
  for(std::uint32_t i = 0; i < staged.ring().slotCount(); ++i)
    direct.push_back({staged.handoff(i), staged.applicationBuffer().slot(i).size});
  SoftwarePeer peer = *SoftwarePeer::make({.slots = direct});
  ASSERT_TRUE(peer.startCapture(staged.ring(), source));
  for(std::uint64_t n = 0; n < frames; ++n)
    staged.ring().release(peertest::takeNext(staged.ring()).slot);
  peer.wait();
  staged.close();
  EXPECT_EQ(staged.path(), SlotPath::Direct);
  EXPECT_EQ(staged.facts().path, SlotPath::Direct);
  EXPECT_EQ(staged.proofCounters()->faults(), 0U);
  EXPECT_EQ(staged.proofCounters()->checked, frames);
}

TEST(StagedProof, SliceThatCameAfterItsCopyIsTornAlthoughTheFrameIsWholeAtItsEnd) {
  StagedBufferConfig config = hostConfig(SlotPath::Staged);
  config.proof = FrameProofConfig{};
  StagedBuffer staged = makeStaged(config);
  const std::uint32_t slot = acquireNext(staged.ring());
  constexpr std::size_t half = 49'152; // whole slices
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes, half), RingStatus::Ok);
  const RingFrame frame = peertest::takeNext(staged.ring());
  ASSERT_EQ(staged.ring().waitBytes(frame.slot, half, ample), RingStatus::Ok); // copied, before anything came
  fill(staged, slot, 0, 0, frameBytes);
  ASSERT_EQ(staged.ring().advance(slot, frameBytes), RingStatus::Ok);
  ASSERT_EQ(staged.ring().waitBytes(frame.slot, frameBytes, ample), RingStatus::Ok);
  EXPECT_FALSE(inApplication(staged, frame) == frameOf(0, frameBytes)) << "what makes it a fault";
  staged.ring().release(frame.slot);
  staged.close();
  EXPECT_EQ(staged.proofCounters()->torn, 1U);
  EXPECT_EQ(staged.proofCounters()->checked, 1U);
}

/// One small frame after the other, without a copy of its own.
class SmallFrames final : public FrameSource {
public:
  SmallFrames(std::uint64_t count, std::size_t bytes) : m_count(count), m_frame(bytes) {}
  std::span<const std::byte> next() override {
    if(m_next == m_count)
      return {};
    std::memcpy(m_frame.data(), &m_next, sizeof m_next);
    ++m_next;
    return m_frame;
  }

private:
  const std::uint64_t m_count;
  std::uint64_t m_next{};
  Bytes m_frame;
};

TEST_P(ProvenPeer, HealthyOneIsNotBlamedInMillionFramesStress) {
  // A sanitizer looks at every access, and at each kind the first time.
  constexpr std::uint64_t count = test::sanitized ? 50'000 : 1'000'000;
  constexpr std::size_t bytes = 192;
  StagedBufferConfig config = hostConfig(GetParam());
  config.buffer.slotCount = 16;
  config.buffer.frameBytes = bytes;
  config.proof.emplace();
  StagedBuffer staged = makeStaged(config);
  SmallFrames source(count, bytes);
  SoftwarePeer peer = makePeer(staged.peerBuffer());
  ASSERT_TRUE(peer.startCapture(staged.ring(), source));
  RingFrame frame;
  std::uint64_t inOrder = 0;
  while(staged.ring().take(frame, ample) == RingStatus::Ok) {
    inOrder += frame.sequence == inOrder && frame.fault == FrameFault::None ? 1 : 0;
    staged.ring().release(frame.slot);
  }
  peer.wait();
  staged.close();
  EXPECT_EQ(inOrder, count);
  const FrameProofCounters found = staged.proofCounters().value();
  EXPECT_EQ(found.checked, count);
  EXPECT_EQ(found.faults(), 0U);
}

} // namespace
} // namespace rdmagpu::stagedtest
