#include <core/software_peer_fixture.hpp>
#include <support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace rdmagpu {
namespace {

using namespace peertest;

constexpr std::size_t frameBytes = 1000;
constexpr FrameRate quick{1000, 1};
constexpr FrameRate hourly{1, 3600};

TEST(Playout, EveryFrameReachesTheSinkInOrderByteForByte) {
  const RdmaGpuBuffer buffer = hostBuffer(3, frameBytes);
  SlotRing ring = makeRing(3);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  std::vector<std::uint32_t> slots;
  for(std::uint64_t n = 0; n < 200; ++n)
    slots.push_back(produce(ring, buffer, n, frameBytes - n));
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 200u);
  std::uint64_t bytes = 0;
  for(std::uint64_t n = 0; n < 200; ++n) {
    EXPECT_EQ(sink.got[n].sequence, n);
    EXPECT_EQ(sink.got[n].slot, slots[n]);
    EXPECT_EQ(sink.got[n].bytes, frameOf(n, frameBytes - n));
    bytes += frameBytes - n;
  }
  EXPECT_EQ(peer.counters().frames, 200u);
  EXPECT_EQ(peer.counters().bytes, bytes);
  EXPECT_EQ(peer.counters().missed, 0u);
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
  EXPECT_EQ(ring.counters().underruns, 0u);
}

TEST(Playout, PacedPeerCountsAnUnderrunAndGoesOn) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.rate = quick});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  waitUntil([&] { return peer.counters().missed >= 3; });
  produce(ring, buffer, 1, frameBytes);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 2u);
  EXPECT_EQ(sink.got[1].bytes, frameOf(1, frameBytes));
  EXPECT_EQ(ring.counters().underruns, peer.counters().missed);
}

TEST(Playout, TheClockStartsWithTheFirstFrame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.rate = quick});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  std::this_thread::sleep_for(std::chrono::milliseconds{20}); // many ticks, were there a clock already
  EXPECT_EQ(peer.counters().missed, 0u);
  produce(ring, buffer, 0, frameBytes);
  waitUntil([&] { return peer.counters().missed > 0; });
  EXPECT_EQ(peer.counters().frames, 1u);
}

TEST(Playout, StopInterruptsTheClock) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.rate = hourly});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  waitUntil([&] { return peer.counters().frames == 1; });
  produce(ring, buffer, 1, frameBytes);
  peer.stop();
  EXPECT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Closed);
}

TEST(Playout, StopEndsTheWaitForAFrame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  peer.stop();
  EXPECT_TRUE(sink.got.empty());
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Closed);
}

TEST(Playout, ASinkThatHasEnoughEndsIt) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink{[] { return false; }};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  peer.wait();
  EXPECT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Closed);
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
}

TEST(Playout, WaitsForAllOfAFrameThatComesInPart) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  const Bytes frame = frameOf(0, frameBytes);
  const std::uint32_t slot = ringtest::acquired(ring);
  ASSERT_TRUE(buffer.upload(slot, part(frame, 0, 10)));
  ASSERT_EQ(ring.publish(slot, 0, frameBytes, 10), RingStatus::Ok);
  waitUntil([&] { return ring.counters().taken == 1; });
  ASSERT_TRUE(buffer.upload(slot, part(frame, 10, frameBytes), 10));
  ASSERT_EQ(ring.advance(slot, frameBytes), RingStatus::Ok);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(sink.got[0].bytes, frame);
}

TEST(Playout, AFrameThatItsProducerNeverFinishedIsNotPlayed) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  const std::uint32_t slot = ringtest::acquired(ring);
  ASSERT_EQ(ring.publish(slot, 0, frameBytes, 10), RingStatus::Ok);
  ring.closeProducer();
  peer.wait();
  EXPECT_TRUE(sink.got.empty());
  EXPECT_EQ(peer.counters().frames, 0u);
}

TEST(Playout, StopEndsTheWaitForTheRestOfAFrame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  const std::uint32_t slot = ringtest::acquired(ring);
  ASSERT_EQ(ring.publish(slot, 0, frameBytes, 10), RingStatus::Ok);
  waitUntil([&] { return ring.counters().taken == 1; });
  peer.stop();
  EXPECT_TRUE(sink.got.empty());
}

TEST(Playout, AFrameThatClaimsMoreThanItsSlotIsNotRead) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  const std::size_t room = buffer.slot(0).size;
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  ASSERT_EQ(ring.publish(ringtest::acquired(ring), 0, room + 1), RingStatus::Ok);
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::RangeOutOfSlot);
  EXPECT_EQ(peer.counters().error.slot, 0);
  EXPECT_TRUE(sink.got.empty());
}

TEST(Playout, AnExceptionOfTheSinkBecomesAnErrorAndClosesTheRing) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Collector sink{[]() -> bool { throw std::runtime_error{"a sink's own"}; }};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::PeerCallbackThrew);
  EXPECT_STREQ(peer.counters().error.call, "SoftwarePeer::startPlayout");
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Closed);
}

TEST(Playout, ASinkThatRunsOutOfMemoryBecomesThatError) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink{[]() -> bool { throw std::bad_alloc{}; }};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::OutOfMemory);
}

TEST(Playout, APeerThatGetsNoMemoryOfItsOwnSaysSoAndEnds) {
  if(test::sanitized || test::onValgrind())
    GTEST_SKIP() << "a sanitizer, and valgrind, end the process when so much is asked for";
  std::byte byte{};
  const PeerSlot endless{HostPointer{&byte}, std::size_t{1} << 60U};
  SoftwarePeer peer = *SoftwarePeer::make({.slots = {&endless, 1}});
  SlotRing ring = makeRing(1);
  Collector sink;
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::OutOfMemory);
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Closed);
}

TEST(MisbehavingPlayout, StopsWithoutAWord) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Stop, .misbehaveAt = 1});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  waitUntil([&] { return peer.counters().finished; });
  produce(ring, buffer, 1, frameBytes);
  produce(ring, buffer, 2, frameBytes);
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Empty) << "not Closed: nobody told the producer";
  peer.stop();
  EXPECT_EQ(ringtest::acquireStatus(ring), RingStatus::Closed);
  EXPECT_EQ(sink.got.size(), 1u);
}

TEST(MisbehavingPlayout, TearsOneFrame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Tear, .misbehaveAt = 1});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  for(std::uint64_t n = 0; n < 3; ++n)
    produce(ring, buffer, n, frameBytes);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 3u);
  Bytes expected = frameOf(1, frameBytes / 2);
  const Bytes stale = part(frameOf(0, frameBytes), frameBytes / 2, frameBytes);
  expected.insert(expected.end(), stale.begin(), stale.end());
  EXPECT_EQ(sink.got[1].bytes, expected);
  EXPECT_EQ(sink.got[2].bytes, frameOf(2, frameBytes));
}

TEST(MisbehavingPlayout, ReadsAFramesEndAfterItGaveTheSlotBack) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::WriteLate, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  produce(ring, buffer, 1, frameBytes); // into the same slot: the ring trusts its consumer
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 2u);
  Bytes expected = frameOf(0, frameBytes - 64);
  const Bytes overwritten = part(frameOf(1, frameBytes), frameBytes - 64, frameBytes);
  expected.insert(expected.end(), overwritten.begin(), overwritten.end());
  EXPECT_EQ(sink.got[0].bytes, expected);
  EXPECT_EQ(sink.got[1].bytes, frameOf(1, frameBytes));
}

TEST(MisbehavingPlayout, DeliversALateFrameAtTheEndToo) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::WriteLate, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(sink.got[0].bytes, frameOf(0, frameBytes));
}

TEST(MisbehavingPlayout, OverrunsByAByteWithinTheSlot) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Overrun, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, frameBytes);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(sink.got[0].bytes.size(), frameBytes + 1);
}

TEST(MisbehavingPlayout, NeverOverrunsTheSlotItself) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  const std::size_t room = buffer.slot(0).size;
  SlotRing ring = makeRing(1);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Overrun, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  produce(ring, buffer, 0, room);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(sink.got[0].bytes, frameOf(0, room));
}

/// What the sink sees of `frames` frames, all there before the peer starts, whose slots may stay as they are.
std::vector<Collector::Got> playedOut(const RdmaGpuBuffer& buffer, std::uint64_t frames,
                                      SoftwarePeerConfig config) {
  SlotRing ring = makeRing(static_cast<std::uint32_t>(frames));
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, config);
  for(std::uint64_t n = 0; n < frames; ++n)
    produce(ring, buffer, n, frameBytes);
  ring.closeProducer();
  EXPECT_TRUE(peer.startPlayout(ring, sink));
  peer.wait();
  EXPECT_EQ(peer.counters().error.kind, Errc::None);
  EXPECT_EQ(sink.got.size(), frames);
  sink.got.resize(frames);
  return sink.got;
}

TEST(MisbehavingPlayout, ReadsTheSlotAfterTheFrames) {
  const RdmaGpuBuffer buffer = hostBuffer(3, frameBytes);
  const auto got = playedOut(buffer, 3, {.misbehaviour = Misbehaviour::WrongSlot, .misbehaveAt = 1});
  EXPECT_EQ(got[0].bytes, frameOf(0, frameBytes));
  EXPECT_EQ(got[1].slot, 1u) << "as if it were that one";
  EXPECT_EQ(got[1].bytes, frameOf(2, frameBytes));
  EXPECT_EQ(got[2].bytes, frameOf(2, frameBytes));
}

TEST(MisbehavingPlayout, ReadsTheFirstSlotInsteadOfTheLast) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  const auto got = playedOut(buffer, 2, {.misbehaviour = Misbehaviour::WrongSlot, .misbehaveAt = 1});
  EXPECT_EQ(got[1].bytes, frameOf(0, frameBytes));
}

TEST(MisbehavingPlayout, ReadsItsOwnSlotWhereTheNextIsTheSame) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  const auto got = playedOut(buffer, 1, {.misbehaviour = Misbehaviour::WrongSlot});
  EXPECT_EQ(got[0].bytes, frameOf(0, frameBytes));
}

TEST(MisbehavingPlayout, AFrameIsAsItIsWhereItsSlotIsOverrun) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  for(const std::uint64_t at : {0U, 1U}) {
    const auto got = playedOut(buffer, 2, {.misbehaviour = Misbehaviour::OverrunSlot, .misbehaveAt = at});
    for(std::uint64_t n = 0; n < 2; ++n)
      EXPECT_EQ(got[n].bytes, frameOf(n, frameBytes));
  }
}

TEST(MisbehavingPlayout, ShowsWhatItLastReadFromThatFrameOn) {
  const RdmaGpuBuffer buffer = hostBuffer(4, frameBytes);
  const auto got = playedOut(buffer, 4, {.misbehaviour = Misbehaviour::Migrate, .misbehaveAt = 2});
  for(std::uint64_t n = 0; n < 4; ++n) {
    EXPECT_EQ(got[n].sequence, n);
    EXPECT_EQ(got[n].bytes, frameOf(n < 2 ? n : 1, frameBytes));
  }
}

TEST(MisbehavingPlayout, ShowsZerosWhereItNeverReadASlot) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  const auto got = playedOut(buffer, 2, {.misbehaviour = Misbehaviour::Migrate});
  for(std::uint64_t n = 0; n < 2; ++n)
    EXPECT_EQ(got[n].bytes, Bytes(frameBytes));
}

TEST(MisbehavingPlayout, HoldsASlotForGood) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing ring = makeRing(2);
  Collector sink;
  SoftwarePeer peer = makePeer(buffer, {.misbehaviour = Misbehaviour::Hold, .misbehaveAt = 0});
  ASSERT_TRUE(peer.startPlayout(ring, sink));
  const std::uint32_t held = produce(ring, buffer, 0, frameBytes);
  for(std::uint64_t n = 1; n < 6; ++n)
    EXPECT_NE(produce(ring, buffer, n, frameBytes), held);
  ring.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 5u);
  EXPECT_EQ(sink.got[0].sequence, 1u);
}

} // namespace
} // namespace rdmagpu
