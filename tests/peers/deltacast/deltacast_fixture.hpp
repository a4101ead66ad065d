#pragma once
#include "software_card.hpp"

#include <rdmagpu/peers/deltacast.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace rdmagpu::vhdtest {

using peers::DeltacastConfig;
using peers::DeltacastCounters;
using peers::DeltacastPeer;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::nanoseconds ample = std::chrono::minutes{5};
constexpr std::size_t frameBytes = 100'000;

inline StagedBufferConfig hostConfig(SlotPath path, SlotFlow flow = SlotFlow::Capture,
                                     std::uint32_t slots = 4) {
  return {.buffer = {.api = RdmaGpuApi::HostFallback,
                     .slotCount = slots,
                     .frameBytes = frameBytes,
                     .host = {.lock = PageLock::Off}},
          .flow = flow,
          .path = path,
          .sliceBytes = 8192};
}

inline StagedBuffer makeStaged(const StagedBufferConfig& config) {
  auto made = StagedBuffer::make(config);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

inline DeltacastPeer makePeer(ULONG type, const DeltacastConfig& config = {}) {
  auto made = DeltacastPeer::make(openStream(type), config);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

inline Bytes inApplication(const StagedBuffer& staged, const RingFrame& frame) {
  Bytes bytes(frame.bytes);
  const auto copied = staged.applicationBuffer().download(frame.slot, bytes);
  EXPECT_TRUE(copied) << copied.error().message();
  return bytes;
}

/// The number of a frame that is what the card made; nullopt for any other.
inline std::optional<std::uint64_t> numberOf(const Bytes& frame) {
  std::uint64_t n{};
  std::memcpy(&n, frame.data(), sizeof n);
  return frame == frameOf(n, frame.size()) ? std::optional{n} : std::nullopt;
}

/// Takes `count` frames, each of which must be one of the card's, of a rising number.
inline void expectFrames(StagedBuffer& staged, int count) {
  std::optional<std::uint64_t> last;
  for(int i = 0; i < count; ++i) {
    RingFrame frame;
    ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok) << staged.error().message();
    ASSERT_EQ(staged.ring().waitBytes(frame.slot, frame.bytes, ample), RingStatus::Ok);
    const auto number = numberOf(inApplication(staged, frame));
    ASSERT_TRUE(number) << "frame " << i;
    EXPECT_TRUE(!last || *number > *last);
    last = number;
    ASSERT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
  }
}

/// The application's part in playout.
inline void play(StagedBuffer& staged, std::uint64_t n) {
  std::uint32_t slot{};
  ASSERT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
  ASSERT_TRUE(staged.applicationBuffer().upload(slot, frameOf(n, frameBytes)));
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes), RingStatus::Ok);
}

/// A card with the SDK's rules, and nothing left behind after the test.
class DeltacastTest : public testing::Test {
protected:
  void SetUp() override { reset(); }
  void TearDown() override {
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_EQ(liveSlots(), 0U);
    EXPECT_EQ(openStreams(), 0U);
  }
};

} // namespace rdmagpu::vhdtest
