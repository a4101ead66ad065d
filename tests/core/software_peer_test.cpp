#include <core/software_peer_fixture.hpp>
#include <rdmagpu/copy_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace rdmagpu {
namespace {

using namespace peertest;

constexpr std::size_t frameBytes = 1000;

Error makeError(const SoftwarePeerConfig& config) {
  const auto peer = SoftwarePeer::make(config);
  EXPECT_FALSE(peer);
  return peer ? Error{} : peer.error();
}

TEST(SoftwarePeer, RefusesAMisbehaviourThatThereIsNot) {
  PeerSlot slot{};
  expectCode(makeError({.slots = std::span{&slot, 1}, .misbehaviour = Misbehaviour{9}}),
             LibraryCode::ValueUnknown);
}

TEST(SoftwarePeer, NeedsASlot) { expectCode(makeError({}), LibraryCode::SlotCountZero); }

TEST(SoftwarePeer, RefusesWhatACpuCannotAddressAndNamesTheSlot) {
  std::array<std::byte, 64> memory{};
  const auto number = std::uint64_t{0x10000};
  void* const foreign = memory.data();
  for(const Handoff& handoff :
      {Handoff{}, Handoff{CudaPointer{number}}, Handoff{VulkanRemoteAddress{foreign}},
       Handoff{NvApiRdmaAddress{foreign}}, Handoff{HipPointer{foreign}}, Handoff{LevelZeroPointer{foreign}},
       Handoff{DmaBufOnly{}}}) {
    const std::array slots{PeerSlot{HostPointer{memory.data()}, memory.size()}, PeerSlot{handoff, 64}};
    const Error error = makeError({.slots = slots});
    expectCode(error, LibraryCode::PeerCannotAddress);
    EXPECT_EQ(error.kind, Errc::Unsupported);
    EXPECT_EQ(error.slot, 1) << name(kind(handoff));
  }
  EXPECT_EQ(memory, (std::array<std::byte, 64>{}));
}

TEST(SoftwarePeer, RefusesASlotWithoutAddressOrSize) {
  std::array<std::byte, 64> memory{};
  for(const PeerSlot& bad : {PeerSlot{HostPointer{nullptr}, 64}, PeerSlot{PciMapping{nullptr}, 64},
                             PeerSlot{HostPointer{memory.data()}, 0}}) {
    const std::array slots{bad};
    const Error error = makeError({.slots = slots});
    expectCode(error, LibraryCode::PeerSlotEmpty);
    EXPECT_EQ(error.slot, 0);
  }
}

TEST(SoftwarePeer, RefusesARateWithoutDenominator) {
  std::array<std::byte, 64> memory{};
  const std::array slots{PeerSlot{HostPointer{memory.data()}, memory.size()}};
  expectCode(makeError({.slots = slots, .rate = {25, 0}}), LibraryCode::RateInvalid);
}

TEST(SoftwarePeer, WritesAndReadsWherePciMemoryIsMapped) {
  std::array<std::byte, 64> memory{};
  const std::array slots{PeerSlot{PciMapping{memory.data()}, memory.size()}};
  const auto peer = SoftwarePeer::make({.slots = slots});
  ASSERT_TRUE(peer);
  const Bytes sent = frameOf(0, 16);
  ASSERT_TRUE(peer->write(0, 48, sent));
  EXPECT_EQ(Bytes(memory.begin() + 48, memory.end()), sent);
  EXPECT_EQ(memory[47], std::byte{0});
  Bytes got(16);
  ASSERT_TRUE(peer->read(0, 48, got));
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(peer->write(0, 64, {}));
  EXPECT_TRUE(peer->read(0, 64, {}));
}

TEST(SoftwarePeer, StreamsThroughAQueueOfHostMemoryToo) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  auto queue = CopyQueue::make(buffer);
  ASSERT_TRUE(queue);
  SoftwarePeer peer = makePeer(buffer, {.copyThrough = &*queue});
  SlotRing captured = makeRing(2);
  Frames source{2, frameBytes};
  ASSERT_TRUE(peer.startCapture(captured, source));
  peer.wait();
  for(std::uint64_t n = 0; n < 2; ++n)
    EXPECT_EQ(inSlot(buffer, takeNext(captured).slot, frameBytes), frameOf(n, frameBytes));
  SlotRing played = makeRing(2);
  Collector sink;
  ASSERT_TRUE(peer.startPlayout(played, sink));
  produce(played, buffer, 7, frameBytes);
  played.closeProducer();
  peer.wait();
  ASSERT_EQ(sink.got.size(), 1u);
  EXPECT_EQ(sink.got[0].bytes, frameOf(7, frameBytes));
}

TEST(SoftwarePeer, MisbehavesThroughAQueueToo) {
  const RdmaGpuBuffer buffer = hostBuffer(3, frameBytes);
  auto queue = CopyQueue::make(buffer);
  ASSERT_TRUE(queue);
  const auto capture = [&](Misbehaviour how) {
    for(std::uint32_t slot = 0; slot < 3; ++slot)
      EXPECT_TRUE(buffer.upload(slot, Bytes(frameBytes)));
    SoftwarePeer peer = makePeer(buffer, {.misbehaviour = how, .copyThrough = &*queue});
    SlotRing ring = makeRing(1);
    Frames source{1, frameBytes};
    EXPECT_TRUE(peer.startCapture(ring, source));
    peer.wait();
    EXPECT_EQ(peer.counters().error.kind, Errc::None);
    EXPECT_EQ(takeNext(ring).bytes, frameBytes);
  };
  const Bytes untouched(frameBytes);
  capture(Misbehaviour::WrongSlot);
  EXPECT_EQ(inSlot(buffer, 0, frameBytes), untouched);
  EXPECT_EQ(inSlot(buffer, 1, frameBytes), frameOf(0, frameBytes));
  capture(Misbehaviour::OverrunSlot);
  EXPECT_EQ(inSlot(buffer, 0, frameBytes), frameOf(0, frameBytes));
  EXPECT_EQ(inSlot(buffer, 1, 64), Bytes(64, std::byte{0xff}));
  EXPECT_EQ(inSlot(buffer, 1, frameBytes - 64, 64), Bytes(frameBytes - 64));
  capture(Misbehaviour::Migrate);
  for(std::uint32_t slot = 0; slot < 3; ++slot)
    EXPECT_EQ(inSlot(buffer, slot, frameBytes), untouched);
}

TEST(SoftwarePeer, WritesAndReadsNothingOutOfRange) {
  std::array<std::byte, 64> memory{};
  const std::array slots{PeerSlot{HostPointer{memory.data()}, 32}};
  const auto peer = SoftwarePeer::make({.slots = slots});
  ASSERT_TRUE(peer);
  Bytes bytes = frameOf(0, 32);
  const Bytes before = bytes;
  for(const std::size_t offset : {std::size_t{1}, std::size_t{33}, ~std::size_t{0}}) {
    const auto written = peer->write(0, offset, bytes);
    expectCode(written.error(), LibraryCode::RangeOutOfSlot);
    EXPECT_EQ(written.error().slot, 0);
    expectCode(peer->read(0, offset, bytes).error(), LibraryCode::RangeOutOfSlot);
  }
  expectCode(peer->write(1, 0, bytes).error(), LibraryCode::SlotOutOfRange);
  expectCode(peer->read(1, 0, bytes).error(), LibraryCode::SlotOutOfRange);
  EXPECT_EQ(memory, (std::array<std::byte, 64>{}));
  EXPECT_EQ(bytes, before);
}

TEST(SoftwarePeer, DoesNotStartTwice) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{endless, frameBytes};
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  expectCode(peer.startCapture(ring, source).error(), LibraryCode::PeerRunning);
  expectCode(peer.startPlayout(ring, sink).error(), LibraryCode::PeerRunning);
}

TEST(SoftwarePeer, StartsAgainAfterItsEndAndCountsAnew) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SoftwarePeer peer = makePeer(buffer);
  for(const std::uint64_t frames : {std::uint64_t{2}, std::uint64_t{1}}) {
    SlotRing ring = makeRing(2);
    Frames source{frames, frameBytes};
    ASSERT_TRUE(peer.startCapture(ring, source));
    peer.wait();
    EXPECT_EQ(peer.counters().frames, frames);
    EXPECT_EQ(peer.counters().bytes, frames * frameBytes);
    EXPECT_TRUE(peer.counters().finished);
  }
}

TEST(SoftwarePeer, StartsAgainWithoutAWaitOnceItHasEnded) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing first = makeRing(1);
  SlotRing second = makeRing(1);
  Frames source{1, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(first, source));
  waitUntil([&] { return peer.counters().finished; });
  ASSERT_TRUE(peer.startCapture(second, source));
  peer.wait();
  EXPECT_EQ(peer.counters().frames, 0u);
}

TEST(SoftwarePeer, RefusesARingThatItHasNotTheSlotsFor) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  SlotRing large = makeRing(3);
  SlotRing empty = makeRing(1);
  const SlotRing elsewhere = std::move(empty);
  Frames source{1, frameBytes};
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  for(SlotRing* ring : {&large, &empty}) {
    expectCode(peer.startCapture(*ring, source).error(), LibraryCode::RingLargerThanPeer);
    expectCode(peer.startPlayout(*ring, sink).error(), LibraryCode::RingLargerThanPeer);
  }
  EXPECT_FALSE(peer.counters().finished);
}

TEST(SoftwarePeer, RunsOnWhenMoved) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{2, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  SoftwarePeer moved = std::move(peer);
  EXPECT_EQ(ring.release(takeNext(ring).slot), RingStatus::Ok);
  moved.wait();
  EXPECT_EQ(moved.counters().frames, 2u);
}

TEST(SoftwarePeer, MoveAssignmentStopsTheOneThatIsReplaced) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer = makePeer(buffer);
  waitUntil([&] { return takeStatus(ring) == RingStatus::Closed; });
  EXPECT_FALSE(peer.counters().finished);
}

TEST(SoftwarePeer, HasNoSlotsOnceMovedFrom) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  Collector sink;
  SoftwarePeer peer = makePeer(buffer);
  const SoftwarePeer moved = std::move(peer);
  Bytes bytes(1);
  expectCode(peer.startCapture(ring, source).error(), LibraryCode::SlotCountZero);
  expectCode(peer.startPlayout(ring, sink).error(), LibraryCode::SlotCountZero);
  expectCode(peer.write(0, 0, bytes).error(), LibraryCode::SlotCountZero);
  expectCode(peer.read(0, 0, bytes).error(), LibraryCode::SlotCountZero);
  EXPECT_EQ(peer.counters().frames, 0u);
  peer.stop();
  peer.wait();
}

TEST(SoftwarePeer, StopBeforeAStartAndTwiceIsHarmless) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  peer.stop();
  peer.wait();
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.stop();
  peer.stop();
  peer.wait();
  EXPECT_TRUE(peer.counters().finished);
}

TEST(SoftwarePeer, StopFromAnotherThreadEndsAWait) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{endless, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  std::thread other{[&] { peer.stop(); }};
  peer.wait();
  other.join();
  EXPECT_TRUE(peer.counters().finished);
}

} // namespace
} // namespace rdmagpu
