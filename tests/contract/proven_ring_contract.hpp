#pragma once
#include <contract/frame_proof_contract.hpp>
#include <core/staged_buffer_fixture.hpp>

#include <chrono>
#include <thread>
#include <vector>

/// What a StagedBuffer whose frames are proven promises, on either path and wherever the slots lie.
namespace rdmagpu::prooftest {

using namespace stagedtest;

/// What the peer does with a frame's bytes before it publishes it.
enum class Write { All, Half, Nothing };

/// The buffer of a config, its frames proven, and the peer's part in it.
class ProvenRing : public testing::TestWithParam<StagedBufferConfig> {
public:
  void make(FaultPolicy onFault, RingPolicy policy = RingPolicy::Fifo) {
    StagedBufferConfig config = GetParam();
    config.policy = policy;
    config.proof = FrameProofConfig{.onFault = onFault};
    m_staged.emplace(makeStaged(config));
  }
  StagedBuffer& staged() { return *m_staged; }
  SlotRing& ring() { return m_staged->ring(); }
  FrameProofCounters counters() const { return m_staged->proofCounters().value(); }

  std::uint32_t publish(std::uint64_t n, Write write = Write::All) {
    const std::uint32_t slot = acquireNext(ring());
    if(write != Write::Nothing)
      fill(staged(), slot, n, 0, write == Write::All ? frameBytes : frameBytes / 2);
    EXPECT_EQ(ring().publish(slot, static_cast<std::int64_t>(n), frameBytes), RingStatus::Ok);
    return slot;
  }
  RingFrame takeNext() {
    RingFrame frame;
    EXPECT_EQ(ring().take(frame, ample), RingStatus::Ok);
    return frame;
  }
  RingFrame pass() {
    const RingFrame frame = takeNext();
    EXPECT_EQ(ring().release(frame.slot), RingStatus::Ok);
    return frame;
  }
  /// Publishes from another thread while this one takes; each fifth frame is not written. None of those comes
  /// out, and all are counted.
  void dropBetweenThreads(RingPolicy policy) {
    make(FaultPolicy::Drop, policy);
    constexpr std::uint64_t frames = 200;
    std::thread producer{[this] {
      for(std::uint64_t n = 0; n < frames; ++n)
        publish(n, n % 5 == 0 ? Write::Nothing : Write::All);
      ring().closeProducer();
    }};
    RingFrame frame;
    while(ring().take(frame, ample) == RingStatus::Ok) {
      EXPECT_NE(frame.sequence % 5, 0U);
      EXPECT_TRUE(inApplication(staged(), frame) == frameOf(frame.sequence, frameBytes));
      EXPECT_EQ(ring().release(frame.slot), RingStatus::Ok);
    }
    producer.join();
    EXPECT_EQ(ring().counters().taken + ring().counters().drops, frames);
    staged().close();
    EXPECT_EQ(counters().checked, frames);
    EXPECT_EQ(counters().stale, frames / 5);
    EXPECT_EQ(counters().faults(), frames / 5);
  }
  /// Hands every slot out once more, so that each is looked at again.
  void goRound() {
    for(std::uint64_t n = 0; n < 2 * ring().slotCount(); ++n) {
      publish(n);
      pass();
    }
  }

private:
  std::optional<StagedBuffer> m_staged;
};

inline std::string nameOfPath(const testing::TestParamInfo<StagedBufferConfig>& info) {
  return name(info.param.path.value_or(SlotPath::Direct));
}

TEST_P(ProvenRing, GoodFramesPassAndAreCounted) {
  make(FaultPolicy::Drop);
  for(std::uint64_t n = 0; n < 50; ++n) {
    publish(n);
    const RingFrame frame = takeNext();
    EXPECT_EQ(frame.fault, FrameFault::None);
    EXPECT_TRUE(inApplication(staged(), frame) == frameOf(n, frameBytes));
    ring().release(frame.slot);
  }
  EXPECT_EQ(counters().checked, 50U);
  EXPECT_EQ(counters().faults(), 0U);
  EXPECT_EQ(ring().counters().drops, 0U);
}

TEST_P(ProvenRing, FaultyFrameIsReported) {
  make(FaultPolicy::Report);
  publish(0, Write::Half);
  publish(1, Write::Nothing);
  publish(2);
  EXPECT_EQ(pass().fault, FrameFault::Torn);
  EXPECT_EQ(pass().fault, FrameFault::Stale);
  EXPECT_EQ(pass().fault, FrameFault::None);
  EXPECT_EQ(counters().torn, 1U);
  EXPECT_EQ(counters().stale, 1U);
  EXPECT_EQ(ring().counters().drops, 0U);
}

TEST_P(ProvenRing, FaultyFrameIsDroppedAndItsSlotGoesOn) {
  make(FaultPolicy::Drop);
  for(std::uint64_t n = 0; n < 30; n += 3) {
    publish(n, Write::Half);
    publish(n + 1, Write::Nothing);
    publish(n + 2);
    const RingFrame frame = pass();
    EXPECT_EQ(frame.sequence, n + 2);
    EXPECT_EQ(frame.fault, FrameFault::None);
  }
  EXPECT_EQ(takeStatus(ring()), RingStatus::Empty);
  EXPECT_EQ(ring().counters().drops, 20U);
  EXPECT_EQ(ring().counters().taken, 10U);
}

TEST_P(ProvenRing, OneThatHasNoneButFaultyFramesEnds) {
  make(FaultPolicy::Drop);
  publish(0, Write::Half);
  publish(1, Write::Half);
  ring().closeProducer();
  RingFrame frame;
  EXPECT_EQ(ring().take(frame, ample), RingStatus::Closed);
  EXPECT_EQ(ring().counters().drops, 2U);
}

TEST_P(ProvenRing, WriteIntoASlotThatIsOutIsFound) {
  make(FaultPolicy::Report);
  const std::uint32_t slot = publish(0);
  const RingFrame frame = takeNext();
  fill(staged(), slot, 77, 0, frameBytes);
  ring().release(frame.slot);
  goRound();
  EXPECT_EQ(counters().wrongOffset, 1U);
  EXPECT_EQ(counters().faults(), 1U);
}

TEST_P(ProvenRing, LateEndIsFound) {
  make(FaultPolicy::Report);
  const std::uint32_t slot = acquireNext(ring());
  fill(staged(), slot, 0, 0, frameBytes - 64);
  ring().publish(slot, 0, frameBytes);
  EXPECT_EQ(takeNext().fault, FrameFault::Torn);
  fill(staged(), slot, 0, 0, frameBytes);
  ring().release(slot);
  goRound();
  EXPECT_EQ(counters().torn, 1U);
  EXPECT_EQ(counters().late, 1U);
}

TEST_P(ProvenRing, ClosingLooksAtTheLastFramesAgain) {
  make(FaultPolicy::Report);
  const std::uint32_t slot = publish(0);
  pass();
  fill(staged(), slot, 5, frameBytes - 100, frameBytes);
  staged().close();
  EXPECT_EQ(counters().late, 1U);
  EXPECT_EQ(counters().faults(), 1U);
}

TEST_P(ProvenRing, FrameThatGrowsIsCheckedOnceItIsWhole) {
  make(FaultPolicy::Drop);
  for(const bool whole : {true, false}) {
    const std::uint32_t slot = acquireNext(ring());
    fill(staged(), slot, 0, 0, frameBytes / 2);
    ASSERT_EQ(ring().publish(slot, 0, frameBytes, frameBytes / 2), RingStatus::Ok);
    const RingFrame frame = takeNext();
    if(whole)
      fill(staged(), slot, 0, frameBytes / 2, frameBytes);
    ASSERT_EQ(ring().advance(slot, frameBytes), RingStatus::Ok);
    ASSERT_EQ(ring().waitBytes(slot, frameBytes, ample), RingStatus::Ok);
    EXPECT_EQ(frame.fault, FrameFault::None);
    EXPECT_EQ(ring().fault(slot), whole ? FrameFault::None : FrameFault::Torn);
    ring().release(slot);
    EXPECT_EQ(ring().fault(slot), FrameFault::None) << "it is not the consumer's any more";
    EXPECT_EQ(counters().torn, whole ? 0U : 1U);
  }
  EXPECT_EQ(counters().checked, 2U);
}

TEST_P(ProvenRing, FrameWithACompletionIsCheckedOnceThatIsDone) {
  make(FaultPolicy::Report);
  ringtest::Work work;
  const std::uint32_t slot = acquireNext(ring());
  ASSERT_EQ(ring().publish(slot, 0, frameBytes, work.completion()), RingStatus::Ok);
  EXPECT_EQ(takeStatus(ring()), RingStatus::Empty);
  fill(staged(), slot, 0, 0, frameBytes);
  work.finish();
  ring().notify();
  EXPECT_EQ(takeNext().fault, FrameFault::None);
  EXPECT_EQ(counters().checked, 1U);
}

TEST_P(ProvenRing, FrameThatGrowsBehindACompletionIsCheckedWhenItIsReleased) {
  make(FaultPolicy::Report);
  ringtest::Work work;
  const std::uint32_t slot = acquireNext(ring());
  ASSERT_EQ(ring().publish(slot, 0, frameBytes, 0, work.completion()), RingStatus::Ok);
  ASSERT_EQ(ring().advance(slot, frameBytes), RingStatus::Ok);
  fill(staged(), slot, 0, 0, frameBytes);
  work.finish();
  ring().notify();
  const RingFrame frame = takeNext();
  ASSERT_EQ(ring().waitBytes(frame.slot, frameBytes, ample), RingStatus::Ok);
  ring().release(frame.slot);
  EXPECT_EQ(counters().checked, 1U);
  EXPECT_EQ(counters().faults(), 0U);
}

TEST_P(ProvenRing, ChangeBeforeTheFrameIsTakenIsLate) {
  make(FaultPolicy::Report);
  const std::uint32_t slot = publish(0);
  const bool checkedAtOnce = GetParam().path == SlotPath::Direct;
  std::this_thread::sleep_for(std::chrono::milliseconds{5});                     // a GPU has looked by then
  const FrameFault before = checkedAtOnce ? FrameFault::None : takeNext().fault; // the thread has looked
  fill(staged(), slot, 9, frameBytes - 100, frameBytes);
  const FrameFault after = checkedAtOnce ? takeNext().fault : before;
  EXPECT_EQ(after, FrameFault::None);
  ring().release(slot);
  goRound();
  EXPECT_EQ(counters().late, 1U);
}

TEST_P(ProvenRing, NewestTakesBackWhatNobodyCheckedAndSaysNothing) {
  make(FaultPolicy::Report, RingPolicy::Newest);
  for(std::uint64_t n = 0; n < 20; ++n)
    publish(n);
  RingFrame frame;
  do
    frame = pass();
  while(frame.sequence != 19);
  EXPECT_EQ(frame.fault, FrameFault::None);
  EXPECT_EQ(counters().faults(), 0U);
}

TEST_P(ProvenRing, NewestCountsFaultyFramesThatItSkips) {
  make(FaultPolicy::Drop, RingPolicy::Newest);
  for(std::uint64_t n = 0; n < 20; ++n)
    publish(n, n % 2 == 0 ? Write::Nothing : Write::All);
  RingFrame frame;
  do
    frame = pass();
  while(frame.sequence != 19);
  staged().close();
  EXPECT_EQ(counters().checked, 20U);
  EXPECT_EQ(counters().stale, 10U);
  EXPECT_EQ(counters().faults(), 10U);
}

TEST_P(ProvenRing, FaultyFramesAreDroppedBetweenTwoThreads) { dropBetweenThreads(RingPolicy::Fifo); }
TEST_P(ProvenRing, FaultyFramesAreDroppedBetweenTwoThreadsUnderNewest) {
  dropBetweenThreads(RingPolicy::Newest);
}

TEST_P(ProvenRing, ProducerMayHoldAllSlots) {
  make(FaultPolicy::Drop);
  for(std::uint64_t n = 0; n < 12;) {
    std::vector<std::uint32_t> held(ring().slotCount());
    for(std::uint32_t& slot : held)
      slot = acquireNext(ring());
    std::uint32_t none{};
    EXPECT_EQ(ring().tryAcquire(none), RingStatus::Empty);
    for(const std::uint32_t slot : held) {
      fill(staged(), slot, n++, 0, frameBytes);
      ASSERT_EQ(ring().publish(slot, 0, frameBytes), RingStatus::Ok);
    }
    for(std::size_t i = 0; i < held.size(); ++i)
      EXPECT_EQ(pass().fault, FrameFault::None);
  }
  EXPECT_EQ(counters().checked, 12U);
  EXPECT_EQ(counters().faults(), 0U);
}

TEST_P(ProvenRing, AbandonedSlotSaysNothing) {
  make(FaultPolicy::Report);
  const std::uint32_t slot = acquireNext(ring());
  fill(staged(), slot, 0, 0, 100);
  ring().abandon(slot);
  goRound();
  EXPECT_EQ(counters().faults(), 0U);
}

TEST_P(ProvenRing, FaultThatACompletionHidIsDroppedBeforeItFailsOver) {
  make(FaultPolicy::FailOver);
  ringtest::Work work;
  const std::uint32_t slot = acquireNext(ring());
  ASSERT_EQ(ring().publish(slot, 0, frameBytes, work.completion()), RingStatus::Ok);
  work.finish();
  ring().notify();
  ASSERT_EQ(publish(1), 1U); // under way, and right
  EXPECT_EQ(pass().sequence, 1U);
  EXPECT_EQ(ring().counters().drops, 1U);
  EXPECT_EQ(staged().path(), SlotPath::Staged);
  publish(2);
  EXPECT_EQ(pass().fault, FrameFault::None);
  EXPECT_EQ(counters().faults(), 1U);
}

TEST_P(ProvenRing, LateChangeFailsOverToo) {
  make(FaultPolicy::FailOver);
  const std::uint32_t slot = publish(0);
  pass();
  fill(staged(), slot, 9, frameBytes - 100, frameBytes);
  goRound();
  EXPECT_EQ(staged().path(), SlotPath::Staged);
  EXPECT_EQ(counters().late, 1U);
  EXPECT_EQ(counters().faults(), 1U);
}

TEST_P(ProvenRing, FaultyFrameOnTheLastPathIsDropped) {
  make(FaultPolicy::FailOver);
  const std::uint32_t slot = acquireNext(ring());
  RingStatus status = ring().publish(slot, 0, frameBytes);
  if(GetParam().path == SlotPath::Direct) { // it comes back as other memory, and is not written there either
    EXPECT_EQ(status, RingStatus::Faulty);
    EXPECT_NE(cpuAddress(staged().handoff(slot)), cpuAddress(staged().applicationBuffer().handoff(slot)));
    status = ring().publish(slot, 0, frameBytes);
  }
  EXPECT_EQ(status, RingStatus::Ok);
  publish(1);
  EXPECT_EQ(pass().sequence, 1U);
  EXPECT_EQ(ring().counters().drops, 1U);
  EXPECT_EQ(counters().stale, GetParam().path == SlotPath::Direct ? 2U : 1U);
}

TEST_P(ProvenRing, PlayoutIsRefused) {
  StagedBufferConfig config = GetParam();
  config.flow = SlotFlow::Playout;
  config.proof.emplace();
  const auto refused = StagedBuffer::make(config);
  ASSERT_FALSE(refused);
  expectCode(refused.error(), LibraryCode::PlayoutNotProvable);
}

} // namespace rdmagpu::prooftest
