#include <core/frame_clock.hpp>
#include <core/software_peer_fixture.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <stdexcept>

namespace rdmagpu {
namespace {

using namespace peertest;
using Clock = std::chrono::steady_clock;

constexpr std::size_t frameBytes = 1000;
constexpr FrameRate quick{1000, 1};
constexpr FrameRate hourly{1, 3600};

std::int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

TEST(Capture, EveryFrameArrivesInOrderByteForByte) {
  const RdmaGpuBuffer buffer = hostBuffer(3, frameBytes);
  SlotRing ring = makeRing(3);
  Frames source{200, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  std::uint64_t n = 0;
  for(RingFrame frame; ring.take(frame, ample) == RingStatus::Ok; ++n) {
    EXPECT_EQ(frame.sequence, n);
    EXPECT_EQ(frame.bytesReady, frameBytes);
    EXPECT_EQ(inSlot(buffer, frame.slot, frame.bytes), frameOf(n, frameBytes));
    EXPECT_EQ(ring.release(frame.slot), RingStatus::Ok);
  }
  peer.wait();
  EXPECT_EQ(n, 200u);
  const PeerCounters counters = peer.counters();
  EXPECT_EQ(counters.frames, 200u);
  EXPECT_EQ(counters.bytes, 200 * frameBytes);
  EXPECT_EQ(counters.missed, 0u);
  EXPECT_EQ(counters.error.kind, Errc::None);
  EXPECT_EQ(ring.counters().drops, 0u);
}

TEST(Capture, TimestampsAreOfTheSteadyClock) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  const std::int64_t before = nanoseconds(Clock::now());
  ASSERT_TRUE(peer.startCapture(ring, source));
  const RingFrame frame = takeNext(ring);
  EXPECT_GE(frame.timestamp, before);
  EXPECT_LE(frame.timestamp, nanoseconds(Clock::now()));
}

TEST(Capture, PacedFramesDoNotComeBeforeTheirTime) {
  constexpr FrameRate rate{60000, 1001};
  const RdmaGpuBuffer buffer = hostBuffer(4, frameBytes);
  SlotRing ring = makeRing(4);
  Frames source{4, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.rate = rate});
  const std::int64_t before = nanoseconds(Clock::now());
  ASSERT_TRUE(peer.startCapture(ring, source));
  for(std::uint64_t n = 0; n < 4; ++n)
    EXPECT_GE(takeNext(ring).timestamp - before, frameTime(rate, n).count());
}

TEST(Capture, PacedPeerLosesTheFrameThatFindsNoSlot) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  test::Semaphore released{0};
  // The frame that comes after five was fetched once the fifth was lost.
  Frames source{6, frameBytes, [&](std::uint64_t n) {
                  if(n == 5)
                    released.acquire();
                }};
  SoftwarePeer peer = makePeer(buffer, {.rate = quick});
  ASSERT_TRUE(peer.startCapture(ring, source));
  waitUntil([&] { return peer.counters().missed == 3; });
  const RingFrame first = takeNext(ring);
  const RingFrame second = takeNext(ring);
  EXPECT_EQ(ring.release(first.slot), RingStatus::Ok);
  released.release();
  const RingFrame third = takeNext(ring);
  peer.wait();
  EXPECT_EQ(first.sequence, 0u);
  EXPECT_EQ(second.sequence, 1u);
  EXPECT_EQ(third.sequence, 5u);
  EXPECT_EQ(inSlot(buffer, third.slot, frameBytes), frameOf(5, frameBytes));
  EXPECT_EQ(ring.counters().drops, 3u);
  EXPECT_EQ(peer.counters().frames, 3u);
}

TEST(Capture, StopInterruptsTheClock) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.rate = hourly});
  ASSERT_TRUE(peer.startCapture(ring, source));
  EXPECT_EQ(takeNext(ring).sequence, 0u);
  peer.stop();
  EXPECT_EQ(takeStatus(ring), RingStatus::Closed);
  EXPECT_EQ(peer.counters().frames, 1u);
}

TEST(Capture, StopEndsTheWaitForASlot) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  waitUntil([&] { return peer.counters().frames == 1; });
  peer.stop();
  EXPECT_EQ(taken(ring).sequence, 0u) << "what was published can still be taken";
  EXPECT_EQ(takeStatus(ring), RingStatus::Closed);
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
}

TEST(Capture, EndsWhenTheConsumerCloses) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  ring.closeConsumer();
  peer.wait();
  EXPECT_LE(peer.counters().frames, 1u);
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
}

TEST(Capture, NewestReplacesFramesInsteadOfWaiting) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2, RingPolicy::Newest);
  Frames source{50, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  const RingFrame frame = taken(ring);
  EXPECT_EQ(frame.sequence, 49u);
  EXPECT_EQ(inSlot(buffer, frame.slot, frameBytes), frameOf(49, frameBytes));
}

TEST(Capture, SlicesCanBeReadBeforeTheFrameIsWhole) {
  constexpr std::size_t large = 4U << 20;
  constexpr std::size_t slice = 61; // the last one is shorter; so many that the consumer wakes up meanwhile
  const RdmaGpuBuffer buffer = hostBuffer(1, large);
  const Bytes frame = frameOf(0, large);
  struct Same final : FrameSource {
    explicit Same(const Bytes& bytes) : frame(bytes) {}
    std::span<const std::byte> next() override { return frame; }
    const Bytes& frame;
  } source{frame};
  SlotRing ring = makeRing(1);
  SoftwarePeer peer = makePeer(buffer, {.sliceBytes = slice});
  ASSERT_TRUE(peer.startCapture(ring, source));
  for(bool early = false; !early;) {
    const RingFrame got = takeNext(ring);
    early = got.bytesReady < large;
    EXPECT_TRUE(got.bytesReady == large || got.bytesReady % slice == 0) << got.bytesReady;
    EXPECT_EQ(inSlot(buffer, got.slot, got.bytesReady), part(frame, 0, got.bytesReady));
    EXPECT_EQ(ring.waitBytes(got.slot, large, ample), RingStatus::Ok);
    EXPECT_EQ(inSlot(buffer, got.slot, large), frame);
    EXPECT_TRUE(buffer.upload(got.slot, Bytes(large)));
    EXPECT_EQ(ring.release(got.slot), RingStatus::Ok);
  }
}

TEST(Capture, SlicesLargerThanTheFrameAreTheFrame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.sliceBytes = frameBytes + 1});
  ASSERT_TRUE(peer.startCapture(ring, source));
  const RingFrame frame = takeNext(ring);
  EXPECT_EQ(frame.bytesReady, frameBytes);
  EXPECT_EQ(inSlot(buffer, frame.slot, frameBytes), frameOf(0, frameBytes));
}

TEST(Capture, AFrameLargerThanItsSlotEndsItAndNothingIsWritten) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  const std::size_t room = buffer.slot(0).size;
  SlotRing ring = makeRing(2);
  Frames source{1, room + 1};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  const Error error = peer.counters().error;
  expectCode(error, LibraryCode::RangeOutOfSlot);
  EXPECT_EQ(error.bytes, room + 1);
  EXPECT_EQ(error.available, room);
  EXPECT_EQ(error.slot, 0);
  EXPECT_EQ(inSlot(buffer, 0, room), Bytes(room));
  EXPECT_EQ(takeStatus(ring), RingStatus::Closed);
}

TEST(Capture, AnExceptionOfTheSourceBecomesAnErrorAndClosesTheRing) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes, [](std::uint64_t) { throw std::runtime_error{"a source's own"}; }};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::PeerCallbackThrew);
  EXPECT_STREQ(peer.counters().error.call, "SoftwarePeer::startCapture");
  EXPECT_EQ(takeStatus(ring), RingStatus::Closed);
}

TEST(Capture, ASourceThatRunsOutOfMemoryBecomesThatError) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes, [](std::uint64_t) { throw std::bad_alloc{}; }};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::OutOfMemory);
}

TEST(MisbehavingCapture, StopsWithoutAWord) {
  const RdmaGpuBuffer buffer = hostBuffer(4, frameBytes);
  SlotRing ring = makeRing(4);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Stop, .misbehaveAt = 2});
  ASSERT_TRUE(peer.startCapture(ring, source));
  waitUntil([&] { return peer.counters().finished; });
  EXPECT_EQ(taken(ring).sequence, 0u);
  EXPECT_EQ(taken(ring).sequence, 1u);
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty) << "not Closed: nobody told the consumer";
  peer.stop();
  EXPECT_EQ(takeStatus(ring), RingStatus::Closed);
}

TEST(MisbehavingCapture, TearsOneFrame) {
  const RdmaGpuBuffer buffer = hostBuffer(3, frameBytes);
  SlotRing ring = makeRing(3);
  Frames source{3, frameBytes};
  SoftwarePeer peer =
      makePeer(buffer, {.misbehaviour = Misbehaviour::Tear, .misbehaveAt = 1, .sliceBytes = frameBytes / 4});
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_EQ(inSlot(buffer, taken(ring).slot, frameBytes), frameOf(0, frameBytes));
  const RingFrame torn = taken(ring);
  EXPECT_EQ(torn.bytesReady, frameBytes) << "passed on as if it were whole";
  Bytes expected = frameOf(1, frameBytes / 2);
  expected.resize(frameBytes); // and then what a fresh slot holds
  EXPECT_EQ(inSlot(buffer, torn.slot, frameBytes), expected);
  EXPECT_EQ(inSlot(buffer, taken(ring).slot, frameBytes), frameOf(2, frameBytes));
}

TEST(MisbehavingCapture, WritesAFramesEndOnlyWhenTheNextIsDue) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  test::Semaphore looked{0};
  Frames source{2, frameBytes, [&](std::uint64_t n) {
                  if(n == 1)
                    looked.acquire();
                }};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::WriteLate, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startCapture(ring, source));
  const RingFrame late = takeNext(ring);
  EXPECT_EQ(late.bytesReady, frameBytes);
  Bytes expected = frameOf(0, frameBytes - 64);
  expected.resize(frameBytes);
  EXPECT_EQ(inSlot(buffer, late.slot, frameBytes), expected);
  looked.release();
  peer.wait();
  EXPECT_EQ(inSlot(buffer, late.slot, frameBytes), frameOf(0, frameBytes));
  EXPECT_EQ(inSlot(buffer, taken(ring).slot, frameBytes), frameOf(1, frameBytes));
}

TEST(MisbehavingCapture, WritesALateEndEvenIfThatIsAllThereIs) {
  constexpr std::size_t tiny = 10;
  const RdmaGpuBuffer buffer = hostBuffer(1, tiny);
  SlotRing ring = makeRing(1);
  test::Semaphore looked{0};
  Frames source{1, tiny, [&](std::uint64_t n) {
                  if(n == 1)
                    looked.acquire();
                }};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::WriteLate, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startCapture(ring, source));
  const RingFrame late = takeNext(ring);
  EXPECT_EQ(inSlot(buffer, late.slot, tiny), Bytes(tiny));
  looked.release();
  peer.wait();
  EXPECT_EQ(inSlot(buffer, late.slot, tiny), frameOf(0, tiny));
}

TEST(MisbehavingCapture, OverrunsByAByteWithinTheSlot) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Frames source{2, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Overrun, .misbehaveAt = 1});
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_EQ(inSlot(buffer, taken(ring).slot, 2, frameBytes), Bytes(2));
  const RingFrame over = taken(ring);
  EXPECT_EQ(over.bytes, frameBytes);
  EXPECT_EQ(inSlot(buffer, over.slot, frameBytes), frameOf(1, frameBytes));
  const Bytes behind = inSlot(buffer, over.slot, 2, frameBytes);
  EXPECT_NE(behind[0], std::byte{0});
  EXPECT_EQ(behind[1], std::byte{0});
}

TEST(MisbehavingCapture, NeverOverrunsTheSlotItself) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  const std::size_t room = buffer.slot(0).size;
  SlotRing ring = makeRing(1);
  Frames source{1, room};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Overrun, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_EQ(inSlot(buffer, 0, room), frameOf(0, room));
  EXPECT_EQ(inSlot(buffer, 1, room), Bytes(room));
}

TEST(MisbehavingCapture, WritesIntoTheSlotAfterItsOwn) {
  for(const std::size_t slice : {std::size_t{0}, frameBytes / 4}) {
    const RdmaGpuBuffer buffer = hostBuffer(4, frameBytes);
    SlotRing ring = makeRing(3);
    Frames source{2, frameBytes};
    SoftwarePeer peer =
        makePeer(buffer, {.misbehaviour = Misbehaviour::WrongSlot, .misbehaveAt = 1, .sliceBytes = slice});
    ASSERT_TRUE(peer.startCapture(ring, source));
    peer.wait();
    EXPECT_EQ(inSlot(buffer, taken(ring).slot, frameBytes), frameOf(0, frameBytes));
    const RingFrame wrong = taken(ring);
    ASSERT_EQ(wrong.slot, 1u);
    EXPECT_EQ(wrong.bytes, frameBytes);
    EXPECT_EQ(inSlot(buffer, 1, frameBytes), Bytes(frameBytes));
    EXPECT_EQ(inSlot(buffer, 2, frameBytes), frameOf(1, frameBytes));
  }
}

TEST(MisbehavingCapture, WritesIntoTheFirstSlotFromTheLast) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Frames source{2, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::WrongSlot, .misbehaveAt = 1});
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_EQ(inSlot(buffer, 0, frameBytes), frameOf(1, frameBytes)) << "which held a frame to be taken";
  EXPECT_EQ(inSlot(buffer, 1, frameBytes), Bytes(frameBytes));
}

TEST(MisbehavingCapture, TakesItsOwnSlotWhereTheNextIsTheSame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::WrongSlot});
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_EQ(inSlot(buffer, 0, frameBytes), frameOf(0, frameBytes));
}

TEST(MisbehavingCapture, TakesItsOwnSlotWhereTheNextIsTooSmall) {
  Bytes memory(2 * frameBytes);
  const std::array peerSlots{PeerSlot{HostPointer{memory.data()}, frameBytes},
                             PeerSlot{HostPointer{memory.data() + frameBytes}, frameBytes - 1}};
  auto peer = SoftwarePeer::make({.slots = peerSlots, .misbehaviour = Misbehaviour::WrongSlot});
  ASSERT_TRUE(peer);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  ASSERT_TRUE(peer->startCapture(ring, source));
  peer->wait();
  EXPECT_EQ(part(memory, 0, frameBytes), frameOf(0, frameBytes));
  EXPECT_EQ(part(memory, frameBytes, 2 * frameBytes), Bytes(frameBytes));
}

Bytes inverted(Bytes bytes) {
  std::ranges::transform(bytes, bytes.begin(), [](std::byte byte) { return ~byte; });
  return bytes;
}

TEST(MisbehavingCapture, OverrunsItsSlotIntoTheNext) {
  const RdmaGpuBuffer buffer = hostBuffer(3, frameBytes);
  SlotRing ring = makeRing(3);
  Frames source{4, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::OverrunSlot, .misbehaveAt = 3});
  ASSERT_TRUE(peer.startCapture(ring, source));
  waitUntil([&] { return ring.counters().published == 3; }); // all slots are full: the next is the one freed
  EXPECT_EQ(ring.release(takeNext(ring).slot), RingStatus::Ok);
  peer.wait();
  const RingFrame hit = taken(ring);
  ASSERT_EQ(hit.sequence, 1u);
  Bytes expected = inverted(frameOf(1, 64));
  const Bytes rest = part(frameOf(1, frameBytes), 64, frameBytes);
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(inSlot(buffer, hit.slot, frameBytes), expected);
  EXPECT_EQ(inSlot(buffer, taken(ring).slot, frameBytes), frameOf(2, frameBytes));
  const RingFrame over = taken(ring);
  EXPECT_EQ(inSlot(buffer, over.slot, frameBytes), frameOf(3, frameBytes));
  const std::size_t behind = buffer.slot(over.slot).size - frameBytes;
  EXPECT_EQ(inSlot(buffer, over.slot, behind, frameBytes), Bytes(behind));
}

TEST(MisbehavingCapture, OverrunsAllOfANextSlotThatIsTiny) {
  Bytes memory(frameBytes + 20);
  const std::array peerSlots{PeerSlot{HostPointer{memory.data()}, frameBytes},
                             PeerSlot{HostPointer{memory.data() + frameBytes}, 10}};
  auto peer = SoftwarePeer::make({.slots = peerSlots, .misbehaviour = Misbehaviour::OverrunSlot});
  ASSERT_TRUE(peer);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  ASSERT_TRUE(peer->startCapture(ring, source));
  peer->wait();
  EXPECT_EQ(part(memory, frameBytes, frameBytes + 10), inverted(Bytes(10)));
  EXPECT_EQ(part(memory, frameBytes + 10, frameBytes + 20), Bytes(10));
}

TEST(MisbehavingCapture, NeverOverrunsTheLastSlot) {
  Bytes memory(frameBytes + 64);
  const std::array peerSlots{PeerSlot{HostPointer{memory.data()}, frameBytes}};
  auto peer = SoftwarePeer::make({.slots = peerSlots, .misbehaviour = Misbehaviour::OverrunSlot});
  ASSERT_TRUE(peer);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  ASSERT_TRUE(peer->startCapture(ring, source));
  peer->wait();
  EXPECT_EQ(part(memory, 0, frameBytes), frameOf(0, frameBytes));
  EXPECT_EQ(part(memory, frameBytes, frameBytes + 64), Bytes(64));
}

TEST(MisbehavingCapture, WritesToNoSlotFromThatFrameOn) {
  for(const std::size_t slice : {std::size_t{0}, frameBytes / 4}) {
    const RdmaGpuBuffer buffer = hostBuffer(4, frameBytes);
    SlotRing ring = makeRing(4);
    Frames source{4, frameBytes};
    SoftwarePeer peer =
        makePeer(buffer, {.misbehaviour = Misbehaviour::Migrate, .misbehaveAt = 2, .sliceBytes = slice});
    ASSERT_TRUE(peer.startCapture(ring, source));
    peer.wait();
    for(std::uint64_t n = 0; n < 4; ++n) {
      const RingFrame frame = taken(ring);
      EXPECT_EQ(frame.sequence, n);
      EXPECT_EQ(frame.bytesReady, frameBytes);
      EXPECT_EQ(inSlot(buffer, frame.slot, frameBytes), n < 2 ? frameOf(n, frameBytes) : Bytes(frameBytes));
    }
    EXPECT_EQ(peer.counters().frames, 4u);
    EXPECT_EQ(peer.counters().error.kind, Errc::None);
  }
}

TEST(MisbehavingCapture, MigratesWithTheNextFrameWhereThatOneIsLost) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  test::Semaphore released{0};
  Frames source{3, frameBytes, [&](std::uint64_t n) {
                  if(n == 2)
                    released.acquire();
                }};
  SoftwarePeer peer =
      makePeer(buffer, {.rate = quick, .misbehaviour = Misbehaviour::Migrate, .misbehaveAt = 1});
  ASSERT_TRUE(peer.startCapture(ring, source));
  waitUntil([&] { return peer.counters().missed == 1; });
  EXPECT_EQ(ring.release(takeNext(ring).slot), RingStatus::Ok);
  released.release();
  const RingFrame frame = takeNext(ring);
  EXPECT_EQ(frame.sequence, 2u);
  EXPECT_EQ(inSlot(buffer, frame.slot, frameBytes), frameOf(0, frameBytes)) << "what the slot held before";
}

TEST(MisbehavingCapture, HoldsASlotForGood) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Frames source{8, frameBytes};
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Hold, .misbehaveAt = 1});
  ASSERT_TRUE(peer.startCapture(ring, source));
  std::vector<std::uint64_t> sequences;
  std::set<std::uint32_t> slotsAfter;
  for(RingFrame frame; ring.take(frame, ample) == RingStatus::Ok;) {
    sequences.push_back(frame.sequence);
    EXPECT_EQ(inSlot(buffer, frame.slot, frameBytes), frameOf(frame.sequence, frameBytes));
    if(frame.sequence > 1)
      slotsAfter.insert(frame.slot);
    EXPECT_EQ(ring.release(frame.slot), RingStatus::Ok);
  }
  peer.wait();
  EXPECT_EQ(sequences, (std::vector<std::uint64_t>{0, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(slotsAfter.size(), 1u) << "the other slot never comes round again";
  EXPECT_EQ(ring.counters().drops, 1u);
}

} // namespace
} // namespace rdmagpu
