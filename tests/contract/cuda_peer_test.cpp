// A software peer that reaches the slots of a GPU through its copy engine.
#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>
#include <core/software_peer_fixture.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <support/log_capture.hpp>

#include <algorithm>
#include <optional>

namespace rdmagpu::test {
namespace {

using namespace peertest;

constexpr std::size_t frameBytes = 100'001;
constexpr std::uint32_t slots = 4;
constexpr FrameRate quick{1000, 1};
constexpr FrameRate hourly{1, 3600};

/// Slots on a GPU, a queue of theirs, and a ring.
struct Path {
  explicit Path(RingPolicy policy = RingPolicy::Fifo) : ring(makeRing(slots, policy)) {}

  SoftwarePeer peer(SoftwarePeerConfig config = {}) {
    config.copyThrough = &queue;
    return makePeer(buffer, config);
  }

  static RdmaGpuBuffer makeBuffer() {
    auto made = RdmaGpuBuffer::make(cudaConfig());
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
  static CopyQueue makeQueue(const RdmaGpuBuffer& buffer) {
    auto made = CopyQueue::make(buffer);
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }

  RdmaGpuBuffer buffer = makeBuffer();
  CopyQueue queue = makeQueue(buffer);
  SlotRing ring;
};

/// `count` frames, frame n of them frameOf(n), in memory that the copy engine reads by itself; it keeps as
/// many as it has places for, and writes anew what it no longer keeps.
class PinnedFrames final : public FrameSource {
public:
  PinnedFrames(std::uint64_t count, std::size_t kept)
      : m_count(count), m_kept(kept), m_memory((kept + 1) * frameBytes) {}

  std::span<const std::byte> next() override {
    if(m_next == m_count)
      return {};
    const auto place = m_memory.span().subspan(m_next % (m_kept + 1) * frameBytes, frameBytes);
    std::ranges::copy(frameOf(m_next++, frameBytes), place.begin());
    return place;
  }
  std::size_t framesKept() const noexcept override { return m_kept; }

private:
  std::uint64_t m_count;
  std::size_t m_kept;
  PinnedBytes m_memory;
  std::uint64_t m_next{};
};

TEST(CudaPeer, CannotAddressAGpusSlotsWithoutAQueue) {
  const auto buffer = Path::makeBuffer();
  const auto peer = SoftwarePeer::make({.slots = slotsOf(buffer)});
  ASSERT_FALSE(peer);
  expectCode(peer.error(), LibraryCode::PeerCannotAddress);
}

TEST(CudaPeer, RefusesASlotWithoutSizeWithAQueueToo) {
  Path path;
  const std::array empty{PeerSlot{path.buffer.handoff(0), 0}};
  const auto peer = SoftwarePeer::make({.slots = empty, .copyThrough = &path.queue});
  ASSERT_FALSE(peer);
  expectCode(peer.error(), LibraryCode::PeerSlotEmpty);
}

TEST(CudaPeer, WritesAndReadsASlotByItself) {
  Path path;
  const SoftwarePeer peer = path.peer();
  const Bytes sent = frameOf(0, frameBytes);
  ASSERT_TRUE(peer.write(1, 3, sent));
  EXPECT_EQ(inSlot(path.buffer, 1, frameBytes, 3), sent);
  Bytes got(frameBytes);
  ASSERT_TRUE(peer.read(1, 3, got));
  EXPECT_EQ(got, sent);
}

/// By how many frames the source keeps.
class CudaPeerCapture : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Kept, CudaPeerCapture, testing::Values(0, 1, 3, 10));

TEST_P(CudaPeerCapture, EveryFrameIsInItsSlotOnceItCanBeTaken) {
  Path path;
  PinnedFrames source{50, GetParam()};
  SoftwarePeer peer = path.peer();
  ASSERT_TRUE(peer.startCapture(path.ring, source));
  for(std::uint64_t n = 0; n < 50; ++n) {
    const RingFrame frame = takeNext(path.ring);
    EXPECT_EQ(frame.sequence, n);
    EXPECT_EQ(inSlot(path.buffer, frame.slot, frame.bytes), frameOf(n, frameBytes));
    ASSERT_EQ(path.ring.release(frame.slot), RingStatus::Ok);
  }
  peer.wait();
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
  EXPECT_EQ(peer.counters().frames, 50u);
  EXPECT_EQ(peer.counters().bytes, 50 * frameBytes);
}

TEST(CudaPeer, NewestReplacesFramesThatAreThere) {
  Path path{RingPolicy::Newest};
  PinnedFrames source{50, 3};
  SoftwarePeer peer = path.peer();
  ASSERT_TRUE(peer.startCapture(path.ring, source));
  peer.wait();
  const RingFrame frame = takeNext(path.ring);
  EXPECT_EQ(frame.sequence, 49u);
  EXPECT_EQ(inSlot(path.buffer, frame.slot, frameBytes), frameOf(49, frameBytes));
}

TEST(CudaPeer, PacedPeerThatFindsNoSlotLosesTheFrame) {
  Path path;
  PinnedFrames source{slots + 3, slots + 3};
  SoftwarePeer peer = path.peer({.rate = quick});
  ASSERT_TRUE(peer.startCapture(path.ring, source));
  peer.wait();
  EXPECT_EQ(peer.counters().frames, slots);
  EXPECT_EQ(path.ring.counters().drops, 3u);
}

TEST(CudaPeer, SlicesAreThereBeforeTheyAreSaidToBe) {
  constexpr std::size_t slice = 1'001;
  Path path;
  PinnedFrames source{20, 3};
  SoftwarePeer peer = path.peer({.sliceBytes = slice});
  ASSERT_TRUE(peer.startCapture(path.ring, source));
  for(std::uint64_t n = 0; n < 20; ++n) {
    const RingFrame frame = takeNext(path.ring);
    const Bytes whole = frameOf(n, frameBytes);
    EXPECT_TRUE(frame.bytesReady == frameBytes || frame.bytesReady % slice == 0);
    EXPECT_EQ(inSlot(path.buffer, frame.slot, frame.bytesReady), part(whole, 0, frame.bytesReady));
    ASSERT_EQ(path.ring.waitBytes(frame.slot, frameBytes, ample), RingStatus::Ok);
    EXPECT_EQ(inSlot(path.buffer, frame.slot, frameBytes), whole);
    ASSERT_EQ(path.ring.release(frame.slot), RingStatus::Ok);
  }
}

/// Two captured frames: the first is wrong in some way, the second is as it should be.
class CudaMisbehavingCapture : public testing::Test {
protected:
  void capture(Misbehaviour how, FrameRate rate = {}) {
    peer.emplace(path.peer({.rate = rate, .misbehaviour = how}));
    ASSERT_TRUE(peer->startCapture(path.ring, source));
  }
  Bytes inNextSlot(std::size_t bytes = frameBytes) {
    frame = takeNext(path.ring);
    return inSlot(path.buffer, frame.slot, bytes);
  }

  Path path;
  PinnedFrames source{2, 1};
  std::optional<SoftwarePeer> peer; ///< Before what it uses goes.
  RingFrame frame;
};

TEST_F(CudaMisbehavingCapture, TearMovesTheFirstHalf) {
  capture(Misbehaviour::Tear);
  const Bytes got = inNextSlot();
  EXPECT_EQ(part(got, 0, frameBytes / 2), part(frameOf(0, frameBytes), 0, frameBytes / 2));
  EXPECT_EQ(part(got, frameBytes / 2, frameBytes), Bytes(frameBytes - frameBytes / 2));
  EXPECT_EQ(inNextSlot(), frameOf(1, frameBytes));
}

TEST_F(CudaMisbehavingCapture, WriteLateMovesTheEndWhenTheNextFrameIsDue) {
  capture(Misbehaviour::WriteLate, hourly);
  const Bytes got = inNextSlot();
  EXPECT_EQ(part(got, 0, frameBytes - 64), part(frameOf(0, frameBytes), 0, frameBytes - 64));
  EXPECT_EQ(part(got, frameBytes - 64, frameBytes), Bytes(64));
  peer->stop();
  EXPECT_EQ(inSlot(path.buffer, frame.slot, frameBytes), frameOf(0, frameBytes));
}

TEST_F(CudaMisbehavingCapture, OverrunChangesTheByteBehind) {
  capture(Misbehaviour::Overrun);
  const Bytes got = inNextSlot(frameBytes + 2);
  EXPECT_EQ(part(got, 0, frameBytes), frameOf(0, frameBytes));
  EXPECT_EQ(part(got, frameBytes, frameBytes + 2), (Bytes{std::byte{0xff}, std::byte{0}}));
}

TEST_F(CudaMisbehavingCapture, WrongSlotWritesTheNextOne) {
  capture(Misbehaviour::WrongSlot, hourly);
  EXPECT_EQ(inNextSlot(), Bytes(frameBytes));
  EXPECT_EQ(inSlot(path.buffer, frame.slot + 1, frameBytes), frameOf(0, frameBytes));
}

TEST_F(CudaMisbehavingCapture, OverrunSlotChangesTheNextOnesBeginning) {
  capture(Misbehaviour::OverrunSlot, hourly);
  EXPECT_EQ(inNextSlot(), frameOf(0, frameBytes));
  const Bytes next = inSlot(path.buffer, frame.slot + 1, 65);
  EXPECT_EQ(part(next, 0, 64), Bytes(64, std::byte{0xff}));
  EXPECT_EQ(next[64], std::byte{0});
}

TEST_F(CudaMisbehavingCapture, MigrateWritesNoSlotAnyMore) {
  capture(Misbehaviour::Migrate);
  EXPECT_EQ(inNextSlot(), Bytes(frameBytes));
  EXPECT_EQ(inNextSlot(), Bytes(frameBytes));
  peer->wait();
  EXPECT_EQ(peer->counters().error.kind, Errc::None);
  EXPECT_EQ(peer->counters().frames, 2u);
}

TEST_F(CudaMisbehavingCapture, HoldLosesTheFrame) {
  capture(Misbehaviour::Hold);
  EXPECT_EQ(inNextSlot(), frameOf(1, frameBytes));
  EXPECT_EQ(path.ring.counters().drops, 1u);
}

TEST_F(CudaMisbehavingCapture, StopLeavesTheRingOpen) {
  capture(Misbehaviour::Stop);
  peer->wait();
  EXPECT_EQ(takeStatus(path.ring), RingStatus::Empty);
}

TEST(CudaPeer, PlayoutHandsEveryFrameToTheSinkInOrder) {
  Path path;
  Collector sink;
  SoftwarePeer peer = path.peer();
  ASSERT_TRUE(peer.startPlayout(path.ring, sink));
  for(std::uint64_t n = 0; n < 50; ++n)
    produce(path.ring, path.buffer, n, frameBytes - n);
  path.ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 50u);
  for(std::uint64_t n = 0; n < 50; ++n) {
    EXPECT_EQ(sink.got[n].sequence, n);
    EXPECT_EQ(sink.got[n].bytes, frameOf(n, frameBytes - n));
  }
  EXPECT_EQ(peer.counters().frames, 50u);
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
}

TEST(CudaPeer, PacedPlayoutCountsAnUnderrun) {
  Path path;
  Collector sink;
  SoftwarePeer peer = path.peer({.rate = quick});
  ASSERT_TRUE(peer.startPlayout(path.ring, sink));
  produce(path.ring, path.buffer, 0, frameBytes);
  waitUntil([&] { return peer.counters().missed > 0; });
  peer.stop();
  ASSERT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(sink.got[0].bytes, frameOf(0, frameBytes));
  EXPECT_EQ(path.ring.counters().underruns, peer.counters().missed);
}

std::vector<Collector::Got> playedOut(Misbehaviour how, std::uint64_t at = 0) {
  Path path;
  Collector sink;
  SoftwarePeer peer = path.peer({.misbehaviour = how, .misbehaveAt = at});
  for(std::uint64_t n = 0; n < 2; ++n)
    produce(path.ring, path.buffer, n, frameBytes);
  path.ring.closeProducer();
  EXPECT_TRUE(peer.startPlayout(path.ring, sink));
  peer.wait();
  return sink.got;
}

TEST(CudaMisbehavingPlayout, TearReadsTheFirstHalf) {
  const auto got = playedOut(Misbehaviour::Tear);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(part(got[0].bytes, 0, frameBytes / 2), part(frameOf(0, frameBytes), 0, frameBytes / 2));
  EXPECT_NE(got[0].bytes, frameOf(0, frameBytes));
  EXPECT_EQ(got[1].bytes, frameOf(1, frameBytes));
}

TEST(CudaMisbehavingPlayout, WriteLateReadsTheEndOnceItHasTheNextFrame) {
  Path path;
  path.ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = path.peer({.misbehaviour = Misbehaviour::WriteLate});
  ASSERT_TRUE(peer.startPlayout(path.ring, sink));
  produce(path.ring, path.buffer, 0, frameBytes);
  std::uint32_t slot{};
  ASSERT_EQ(path.ring.acquire(slot, ample), RingStatus::Ok) << "it was given back";
  ASSERT_TRUE(path.buffer.upload(slot, Bytes(frameBytes)));
  ASSERT_EQ(path.ring.publish(slot, 0, frameBytes), RingStatus::Ok);
  path.ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 2u);
  EXPECT_EQ(part(sink.got[0].bytes, frameBytes - 64, frameBytes), Bytes(64));
  EXPECT_EQ(part(sink.got[0].bytes, 0, frameBytes - 64), part(frameOf(0, frameBytes), 0, frameBytes - 64));
}

TEST(CudaMisbehavingPlayout, OverrunReadsTheByteBehindToo) {
  EXPECT_EQ(playedOut(Misbehaviour::Overrun)[0].bytes.size(), frameBytes + 1);
}

TEST(CudaMisbehavingPlayout, WrongSlotReadsTheNextOne) {
  const auto got = playedOut(Misbehaviour::WrongSlot);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].bytes, frameOf(1, frameBytes));
  EXPECT_EQ(got[1].bytes, frameOf(1, frameBytes));
}

TEST(CudaMisbehavingPlayout, OverrunSlotLeavesTheFrameAsItIs) {
  const auto got = playedOut(Misbehaviour::OverrunSlot);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].bytes, frameOf(0, frameBytes));
  EXPECT_EQ(got[1].bytes, frameOf(1, frameBytes));
}

TEST(CudaMisbehavingPlayout, MigrateReadsNoSlotAnyMore) {
  const auto got = playedOut(Misbehaviour::Migrate);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].bytes, Bytes(frameBytes));
  EXPECT_EQ(got[1].bytes, Bytes(frameBytes));
}

TEST(CudaMisbehavingPlayout, HeldAndStoppedFramesAreNeverSeen) {
  EXPECT_EQ(playedOut(Misbehaviour::Hold).size(), 1u);
  EXPECT_EQ(playedOut(Misbehaviour::Stop, 1).size(), 1u);
}

/// What is under way when a side closes is over when the peer has stopped: the memory may go.
TEST(CudaPeer, CaptureEndsWhileCopiesAreUnderWay) {
  for(const bool byConsumer : {true, false}) {
    Path path;
    PinnedFrames source{endless, slots};
    SoftwarePeer peer = path.peer();
    ASSERT_TRUE(peer.startCapture(path.ring, source));
    takeNext(path.ring);
    byConsumer ? path.ring.closeConsumer() : peer.stop();
    peer.wait();
    EXPECT_EQ(peer.counters().error.kind, Errc::None);
  }
}

TEST(CudaPeer, PlayoutEndsWhileCopiesAreUnderWay) {
  for(const bool bySink : {true, false}) {
    Path path;
    Collector sink{[&] { return !bySink; }};
    SoftwarePeer peer = path.peer();
    for(std::uint64_t n = 0; n < slots; ++n)
      produce(path.ring, path.buffer, n, frameBytes);
    ASSERT_TRUE(peer.startPlayout(path.ring, sink));
    if(!bySink)
      peer.stop();
    peer.wait();
    EXPECT_EQ(peer.counters().error.kind, Errc::None);
    EXPECT_EQ(ringtest::acquireStatus(path.ring), RingStatus::Closed);
  }
}

class CudaPeerFault : public OnCudaStandin {
protected:
  /// Four frames each way, and what the peer found wrong.
  static Result<void> bothWays(const RdmaGpuBuffer& buffer, Misbehaviour how) {
    auto queue = CopyQueue::make(buffer);
    if(!queue)
      return queue.error();
    SoftwarePeer peer = makePeer(buffer, {.misbehaviour = how, .copyThrough = &*queue});
    SlotRing captured = makeRing(slots);
    Frames source{slots, frameBytes};
    EXPECT_TRUE(peer.startCapture(captured, source));
    peer.wait();
    if(const Error error = peer.counters().error; error.kind != Errc::None)
      return error;
    SlotRing played = makeRing(slots);
    for(std::uint32_t n = 0; n < slots; ++n)
      EXPECT_EQ(played.publish(ringtest::acquired(played), 0, frameBytes), RingStatus::Ok);
    played.closeProducer();
    Collector sink;
    EXPECT_TRUE(peer.startPlayout(played, sink));
    peer.wait();
    return peer.counters().error;
  }

  static Outcome onNewSlots(Misbehaviour how) {
    const LogCapture log;
    Outcome outcome;
    if(const auto buffer = RdmaGpuBuffer::make(cudaConfig())) {
      outcome.result = bothWays(*buffer, how);
      outcome.survived = survivedBy(buffer->facts());
    } else {
      outcome.result = buffer.error();
    }
    const auto logged = log.errors();
    outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
    return outcome;
  }
};

TEST_F(CudaPeerFault, EveryCallFailsOnce) {
  everyCallFailsOnce(*standin, [] { return onNewSlots(Misbehaviour::None); });
}

TEST_F(CudaPeerFault, EveryCallFailsOnceWhereTheNextSlotIsOverrunToo) {
  everyCallFailsOnce(*standin, [] { return onNewSlots(Misbehaviour::OverrunSlot); });
}

/// The copies end when they are waited for, and not before: no polling of the ring would bring them on.
TEST_F(CudaPeerFault, ThePeerWaitsForItsOwnCopies) {
  standin->questionsUntilDone(-1);
  Path path;
  PinnedFrames source{50, slots};
  SoftwarePeer peer = path.peer();
  ASSERT_TRUE(peer.startCapture(path.ring, source));
  for(std::uint64_t n = 0; n < 50; ++n)
    ASSERT_EQ(path.ring.release(takeNext(path.ring).slot), RingStatus::Ok);
}

TEST_F(CudaPeerFault, ACopyThatFailsLaterEndsThePeer) {
  Path path;
  PinnedFrames source{endless, slots};
  SoftwarePeer peer = path.peer();
  standin->failNamed("cuEventSynchronize", api::Status::Unknown);
  ASSERT_TRUE(peer.startCapture(path.ring, source));
  peer.wait();
  EXPECT_STREQ(peer.counters().error.call, "cuEventSynchronize");
  standin->failNamed("", api::Status::Success);
}

TEST_F(CudaPeerFault, MemoryThatCannotBePinnedIsToldOfAndUsed) {
  const LogCapture log;
  standin->failNamed("cuMemHostRegister_v2", api::Status::OutOfMemory);
  const auto got = playedOut(Misbehaviour::None);
  standin->failNamed("", api::Status::Success);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].bytes, frameOf(1, frameBytes));
  ASSERT_FALSE(log.errors().empty());
  EXPECT_STREQ(log.errors().front().call, "cuMemHostRegister_v2");
}

} // namespace
} // namespace rdmagpu::test
