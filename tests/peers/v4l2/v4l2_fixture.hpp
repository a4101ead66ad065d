#pragma once
#include "software_v4l2.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace rdmagpu::v4l2test {

using peers::V4l2Config;
using peers::V4l2Counters;
using peers::V4l2Memory;
using peers::V4l2Peer;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::chrono::nanoseconds ample = std::chrono::minutes{5};
constexpr std::size_t frameBytes = 100'000;
constexpr std::uint32_t capture = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
constexpr std::uint32_t output = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_STREAMING;
constexpr std::uint32_t captureMany = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_STREAMING;
constexpr std::uint32_t outputMany = V4L2_CAP_VIDEO_OUTPUT_MPLANE | V4L2_CAP_STREAMING;

/// Pointers, since this machine need not have a udmabuf. Between frames of its own the test waits for slots
/// to be queued again, which a peer does after a timeout at the latest.
inline V4l2Config pointers(SlotFlow flow = SlotFlow::Capture) {
  return {.flow = flow,
          .memory = V4l2Memory::UserPointer,
          .timeout = std::chrono::milliseconds{flow == SlotFlow::Capture ? 10 : 60'000},
          .calls = calls()};
}

inline StagedBufferConfig hostConfig(SlotFlow flow = SlotFlow::Capture, std::uint32_t slots = 4,
                                     SlotPath path = SlotPath::Direct) {
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

inline V4l2Peer openPeer(const V4l2Config& config = pointers()) {
  auto opened = V4l2Peer::open("/dev/video0", config);
  EXPECT_TRUE(opened) << opened.error().message();
  return *std::move(opened);
}

inline Bytes inApplication(const StagedBuffer& staged, const RingFrame& frame) {
  Bytes bytes(frame.bytes);
  const auto copied = staged.applicationBuffer().download(frame.slot, bytes);
  EXPECT_TRUE(copied) << copied.error().message();
  return bytes;
}

/// Takes a frame, which must be that one; returns what the ring says of it.
inline RingFrame expectFrame(StagedBuffer& staged, std::uint64_t n) {
  RingFrame frame;
  EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Ok) << staged.error().message();
  EXPECT_EQ(staged.ring().waitBytes(frame.slot, frame.bytes, ample), RingStatus::Ok);
  EXPECT_EQ(inApplication(staged, frame), frameOf(n, frame.bytes)) << "frame " << n;
  EXPECT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
  return frame;
}

/// The application's part in playout.
inline void play(StagedBuffer& staged, std::uint64_t n, std::size_t bytes = frameBytes) {
  std::uint32_t slot{};
  ASSERT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
  ASSERT_TRUE(staged.applicationBuffer().upload(slot, frameOf(n, bytes)));
  ASSERT_EQ(staged.ring().publish(slot, 0, bytes), RingStatus::Ok);
}

/// The peer's thread has ended, and that frees the producer or consumer who waits.
inline V4l2Counters waitFor(V4l2Peer& peer) {
  peer.wait();
  return peer.counters();
}

/// A device with V4L2's rules, and nothing left open after the test.
class V4l2Test : public testing::Test {
protected:
  void SetUp() override { reset(); }
  void TearDown() override {
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_FALSE(isOpen());
  }
};

} // namespace rdmagpu::v4l2test
