// Needs the kernel's virtual video driver, one device of it single-planar and one multi-planar:
// modprobe vivid n_devs=2 multiplanar=1,2 node_types=0x101,0x101
#include "picture_counter.hpp"
#include "vivid.hpp"

#include <rdmagpu/peers/v4l2.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <ostream>
#include <thread>

namespace rdmagpu::v4l2test {
namespace {

using namespace std::chrono_literals;
using peers::V4l2Config;
using peers::V4l2Counters;
using peers::V4l2Memory;
using peers::V4l2Peer;

using Bytes = std::vector<std::byte>;

constexpr std::chrono::nanoseconds ample = 30s;
constexpr std::uint32_t slots = 6;

bool hasUdmabuf() { return ::access("/dev/udmabuf", F_OK) == 0; }

std::uint32_t capabilities(SlotFlow flow, bool many) {
  if(flow == SlotFlow::Capture)
    return many ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE;
  return many ? V4L2_CAP_VIDEO_OUTPUT_MPLANE : V4L2_CAP_VIDEO_OUTPUT;
}

StagedBufferConfig hostSlots() {
  return {.buffer = {.api = RdmaGpuApi::HostFallback, .slotCount = slots, .frameBytes = 1}};
}

V4l2Peer openPeer(const Vivid& node, const V4l2Config& config) {
  auto opened = V4l2Peer::open(node.path(), config);
  EXPECT_TRUE(opened) << opened.error().message();
  return *std::move(opened);
}

Bytes takeFrame(StagedBuffer& staged, RingFrame& frame) {
  if(staged.ring().take(frame, ample) != RingStatus::Ok)
    return {};
  Bytes bytes(frame.bytes);
  EXPECT_TRUE(staged.applicationBuffer().download(frame.slot, bytes));
  staged.ring().release(frame.slot);
  return bytes;
}

struct Picture {
  std::uint32_t format;
  std::uint32_t width;
  std::uint32_t height;
  std::size_t bytesPerPixel; ///< Of the first plane, which has the brightness.
  const char* name;
};
constexpr std::array pictures{Picture{V4L2_PIX_FMT_UYVY, 640, 360, 2, "UYVY_640x360"},
                              Picture{V4L2_PIX_FMT_NV12, 320, 180, 1, "NV12_320x180"},
                              Picture{V4L2_PIX_FMT_RGB24, 640, 480, 3, "RGB24_640x480"},
                              Picture{V4L2_PIX_FMT_ABGR32, 1280, 720, 4, "ABGR32_1280x720"}};

struct Case {
  Picture picture;
  bool many;
  V4l2Memory memory;
};
void PrintTo(const Case& c, std::ostream* out) { // NOLINT(readability-identifier-naming): GoogleTest's
  *out << c.picture.name;
}
std::vector<Case> cases() {
  std::vector<Case> all;
  for(const V4l2Memory memory : {V4l2Memory::DmaBuf, V4l2Memory::UserPointer}) {
    if(memory == V4l2Memory::DmaBuf && !hasUdmabuf()) // kernels before 6.2 as Debian builds them
      continue;
    for(const Picture& picture : pictures)
      all.push_back(
          {picture, picture.format == V4L2_PIX_FMT_NV12 || picture.format == V4L2_PIX_FMT_RGB24, memory});
    all.push_back({pictures[0], true, memory});
  }
  return all;
}
std::string nameOf(const testing::TestParamInfo<Case>& info) {
  return std::string{info.param.picture.name} + (info.param.many ? "_many_" : "_one_") +
         (info.param.memory == V4l2Memory::DmaBuf ? "dmabuf" : "pointer");
}

class VividTest : public testing::Test {
protected:
  void SetUp() override {
    if(!Vivid::find(capabilities(SlotFlow::Capture, true)) ||
       !Vivid::find(capabilities(SlotFlow::Capture, false)))
      GTEST_SKIP() << "no single-planar and multi-planar device of vivid";
  }
};

class VividCapture : public VividTest, public testing::WithParamInterface<Case> {};
INSTANTIATE_TEST_SUITE_P(, VividCapture, testing::ValuesIn(cases()), nameOf);

/// Frames come at 15 a second, each with its number.
TEST_P(VividCapture, EveryFrameComesAndHasItsNumber) {
  const Picture picture = GetParam().picture;
  const V4l2Memory memory = GetParam().memory;
  const auto node = Vivid::find(capabilities(SlotFlow::Capture, GetParam().many));
  ASSERT_TRUE(node);
  V4l2Peer peer = openPeer(*node, {.pixelFormat = picture.format,
                                   .width = picture.width,
                                   .height = picture.height,
                                   .input = webcam,
                                   .timePerFrame = {1, 15},
                                   .memory = memory});
  StagedBufferConfig config = hostSlots();
  config.proof = FrameProofConfig{};
  const auto started = peer.start(config);
  ASSERT_TRUE(started) << started.error().message();
  EXPECT_EQ(peer.memory(), memory);
  std::vector<Bytes> frames;
  RingFrame frame;
  for(std::uint64_t n = 0; n < 14; ++n) {
    frames.push_back(takeFrame(*peer.buffer(), frame));
    ASSERT_EQ(frames.back().size(), peer.frameBytes());
    EXPECT_EQ(frame.sequence, n);
    EXPECT_EQ(frame.fault, FrameFault::None);
  }
  peer.stop();
  const V4l2Counters counters = peer.counters();
  EXPECT_EQ(counters.lost, 0U);
  EXPECT_EQ(counters.faulty, 0U);
  EXPECT_EQ(counters.timeouts, 0U);
  EXPECT_EQ(counters.error.kind, Errc::None) << counters.error.message();
  EXPECT_EQ(counters.stopError.kind, Errc::None) << counters.stopError.message();
  // Right after its start vivid may give two frames the first number.
  const auto numbered = [&](std::uint64_t twice) {
    PictureCounter counter{peer.format(), picture.bytesPerPixel};
    for(std::uint64_t n = 1; n < frames.size(); ++n) {
      if(!counter.shows(frames[n], n - twice))
        return false;
    }
    return counter.digitsSeen() == 10;
  };
  EXPECT_TRUE(numbered(0) || numbered(1));
}

TEST_F(VividTest, TheWayIsFoundByTrying) {
  const auto node = Vivid::find(capabilities(SlotFlow::Capture, false));
  V4l2Peer peer = openPeer(*node, {.width = 320, .height = 180, .input = webcam, .timePerFrame = {1, 60}});
  ASSERT_TRUE(peer.start(hostSlots()));
  EXPECT_EQ(peer.memory(), hasUdmabuf() ? V4l2Memory::DmaBuf : V4l2Memory::UserPointer);
  EXPECT_EQ(peer.memoryReason().code, hasUdmabuf() ? 0 : ENOENT) << peer.memoryReason().message();
  RingFrame frame;
  EXPECT_EQ(takeFrame(*peer.buffer(), frame).size(), peer.frameBytes());
}

TEST_F(VividTest, AFormatThatItHasNotIsRefused) {
  const auto node = Vivid::find(capabilities(SlotFlow::Capture, false));
  const auto odd = V4l2Peer::open(node->path(), {.width = 333, .height = 77, .input = webcam});
  ASSERT_FALSE(odd);
  EXPECT_STREQ(odd.error().codeName, "PeerFormat");
  const auto many = Vivid::find(capabilities(SlotFlow::Capture, true));
  const auto planes = V4l2Peer::open(many->path(), {.pixelFormat = V4L2_PIX_FMT_NV12M, .input = webcam});
  ASSERT_FALSE(planes);
  EXPECT_STREQ(planes.error().codeName, "PeerPlanes");
  const auto other = V4l2Peer::open(node->path(), {.flow = SlotFlow::Playout});
  ASSERT_FALSE(other);
  EXPECT_STREQ(other.error().codeName, "PeerFlow");
}

TEST_F(VividTest, ADeviceThatAnotherUsesIsBusy) {
  const auto node = Vivid::find(capabilities(SlotFlow::Capture, false));
  const V4l2Config config{.width = 320, .height = 180, .input = webcam};
  V4l2Peer first = openPeer(*node, config);
  V4l2Peer second = openPeer(*node, config);
  ASSERT_TRUE(first.start(hostSlots()));
  const auto started = second.start(hostSlots());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, EBUSY) << started.error().message();
  EXPECT_FALSE(started.error().hints().empty());
  const auto third = V4l2Peer::open(node->path(), {.width = 640, .height = 360});
  ASSERT_FALSE(third);
  EXPECT_STREQ(third.error().call, "VIDIOC_S_FMT");
  EXPECT_EQ(third.error().code, EBUSY);
}

/// What the driver does wrong when it is told to.
class VividFault : public VividTest {
protected:
  void SetUp() override {
    VividTest::SetUp();
    if(IsSkipped())
      return;
    device.emplace(*Vivid::find(capabilities(SlotFlow::Capture, false)));
    peer.emplace(openPeer(*device, {.width = 320, .height = 180, .input = webcam, .timePerFrame = {1, 30}}));
  }
  std::optional<Vivid> device;
  std::optional<V4l2Peer> peer;
};

TEST_F(VividFault, DamagedFramesAreDropped) {
  ASSERT_TRUE(peer->start(hostSlots()));
  RingFrame frame;
  takeFrame(*peer->buffer(), frame);
  for(int i = 0; i < 600 && peer->counters().faulty == 0; ++i) {
    ASSERT_TRUE(device->set("Inject V4L2_BUF_FLAG_ERROR", 1));
    takeFrame(*peer->buffer(), frame);
  }
  peer->stop();
  EXPECT_GE(peer->counters().faulty, 1U);
  EXPECT_GE(peer->buffer()->ring().counters().drops, peer->counters().faulty);
}

TEST_F(VividFault, FramesThatItLosesAreCounted) {
  ASSERT_TRUE(device->set("Percentage of Dropped Buffers", 50));
  ASSERT_TRUE(peer->start(hostSlots()));
  RingFrame frame;
  for(int i = 0; i < 15; ++i)
    takeFrame(*peer->buffer(), frame);
  peer->stop();
  EXPECT_TRUE(device->set("Percentage of Dropped Buffers", 0));
  EXPECT_GE(peer->counters().lost, 1U);
  EXPECT_EQ(peer->buffer()->ring().counters().drops, peer->counters().lost + peer->counters().faulty);
}

TEST_F(VividFault, RefusalsAreErrorsAndTheNextStartSucceeds) {
  for(const char* call : {"VIDIOC_REQBUFS", "VIDIOC_QBUF", "VIDIOC_STREAMON"}) {
    V4l2Peer refused = openPeer(*device, {.memory = V4l2Memory::UserPointer});
    ASSERT_TRUE(device->set("Inject " + std::string{call} + " Error", 1));
    const auto started = refused.start(hostSlots());
    ASSERT_FALSE(started) << call;
    EXPECT_EQ(started.error().code, EINVAL) << started.error().message();
    EXPECT_FALSE(started.error().hints().empty());
    ASSERT_TRUE(refused.start(hostSlots())) << call;
    RingFrame frame;
    EXPECT_FALSE(takeFrame(*refused.buffer(), frame).empty());
  }
}

TEST_F(VividFault, AFatalErrorEndsTheStream) {
  ASSERT_TRUE(peer->start(hostSlots()));
  RingFrame frame;
  takeFrame(*peer->buffer(), frame);
  ASSERT_TRUE(device->set("Inject Fatal Streaming Error", 1));
  peer->wait();
  const V4l2Counters counters = peer->counters();
  EXPECT_EQ(counters.error.code, EIO) << counters.error.message(); // of DQBUF, or of QBUF
  EXPECT_FALSE(counters.error.hints().empty());
  EXPECT_EQ(counters.stopError.kind, Errc::None);
}

TEST_F(VividFault, ADeviceThatIsUnpluggedIsLost) {
  ASSERT_TRUE(peer->start(hostSlots()));
  RingFrame frame;
  takeFrame(*peer->buffer(), frame);
  ASSERT_TRUE(device->set("Disconnect", 1));
  peer->wait();
  EXPECT_EQ(peer->counters().error.code, ENODEV) << peer->counters().error.message();
  EXPECT_EQ(peer->counters().error.kind, Errc::Lost);
  peer.reset();
  device->close(); // as the last one: then it is plugged in again
  const auto again = Vivid::find(capabilities(SlotFlow::Capture, false));
  EXPECT_TRUE(again);
}

/// An output and an input of one device, with a cable between them.
class VividLoop : public VividTest, public testing::WithParamInterface<V4l2Memory> {
protected:
  static constexpr std::uint64_t frames = 40;

  /// Noise, with its number in front.
  static Bytes frameOf(std::uint64_t n, std::size_t bytes) {
    Bytes frame(bytes);
    std::uint64_t state = n * 0x9E37'79B9'7F4A'7C15 + 1;
    for(std::size_t at = 0; at + sizeof state <= bytes; at += sizeof state) {
      state ^= state << 13U;
      state ^= state >> 7U;
      state ^= state << 17U;
      std::memcpy(frame.data() + at, at == 0 ? &n : &state, sizeof state);
    }
    return frame;
  }

  static void setTimings(const Vivid& node) {
    // V4L2_DV_BT_DMT_640X480P60, which is an initialiser for C.
    v4l2_dv_timings timings{};
    timings.type = V4L2_DV_BT_656_1120;
    timings.bt.width = 640;
    timings.bt.height = 480;
    timings.bt.pixelclock = 25'175'000;
    timings.bt.hfrontporch = 16;
    timings.bt.hsync = 96;
    timings.bt.hbackporch = 48;
    timings.bt.vfrontporch = 10;
    timings.bt.vsync = 2;
    timings.bt.vbackporch = 33;
    timings.bt.standards = V4L2_DV_BT_STD_DMT | V4L2_DV_BT_STD_CEA861;
    timings.bt.flags = V4L2_DV_FL_HAS_CEA861_VIC;
    timings.bt.cea861_vic = 1;
    ASSERT_TRUE(node.call(VIDIOC_S_DV_TIMINGS, &timings));
  }

  static bool connect(const Vivid& input) {
    if(const auto menu = input.control("HDMI 000-0 Is Connected To")) // from 6.12 on
      return input.choose(*menu, "Output HDMI 000-0");
    return input.set("Loop Video", 1);
  }

  static void produce(StagedBuffer& staged, std::size_t bytes) {
    for(std::uint64_t n = 0; n < frames; ++n) {
      std::uint32_t slot{};
      if(staged.ring().acquire(slot, ample) != RingStatus::Ok)
        break;
      EXPECT_TRUE(staged.applicationBuffer().upload(slot, frameOf(n, bytes)));
      staged.ring().publish(slot, 0, bytes);
    }
    staged.ring().closeProducer();
  }
};
std::vector<V4l2Memory> ways() {
  return hasUdmabuf() ? std::vector{V4l2Memory::DmaBuf, V4l2Memory::UserPointer}
                      : std::vector{V4l2Memory::UserPointer};
}
std::string wayName(const testing::TestParamInfo<V4l2Memory>& info) {
  return info.param == V4l2Memory::DmaBuf ? "dmabuf" : "pointer";
}
INSTANTIATE_TEST_SUITE_P(, VividLoop, testing::ValuesIn(ways()), wayName);

TEST_P(VividLoop, WhatIsPlayedOutIsCapturedByteForByte) {
  const auto in = Vivid::find(capabilities(SlotFlow::Capture, false));
  const auto out = Vivid::find(capabilities(SlotFlow::Playout, false));
  ASSERT_TRUE(in && out);
  V4l2Config config{.input = hdmiInput, .memory = GetParam(), .timeout = 300ms};
  { const V4l2Peer chooses = openPeer(*in, {.input = hdmiInput}); }
  { const V4l2Peer chooses = openPeer(*out, {.flow = SlotFlow::Playout, .input = hdmiOutput}); }
  setTimings(*in);
  setTimings(*out);
  ASSERT_TRUE(connect(*in));
  ASSERT_TRUE(in->set("OSD Text Mode", 2)); // none
  config.pixelFormat = V4L2_PIX_FMT_UYVY;
  V4l2Peer capture = openPeer(*in, config);
  config.flow = SlotFlow::Playout;
  config.input = hdmiOutput;
  V4l2Peer playout = openPeer(*out, config);
  ASSERT_EQ(capture.frameBytes(), 640U * 480 * 2);
  ASSERT_EQ(playout.frameBytes(), capture.frameBytes());
  const std::size_t bytes = capture.frameBytes();
  ASSERT_TRUE(playout.start(hostSlots()));
  std::thread producer{[&] { produce(*playout.buffer(), bytes); }};
  const auto started = capture.start(hostSlots());
  EXPECT_TRUE(started) << started.error().message();
  std::vector<std::uint64_t> numbers;
  for(int i = 0; i < 400 && (numbers.empty() || numbers.back() + 1 < frames); ++i) {
    RingFrame frame;
    const Bytes got = takeFrame(*capture.buffer(), frame);
    std::uint64_t n = frames;
    if(got.size() == bytes)
      std::memcpy(&n, got.data(), sizeof n);
    if(n >= frames) { // what the device shows before the first frame
      EXPECT_TRUE(numbers.empty());
      continue;
    }
    EXPECT_EQ(got == frameOf(n, bytes), true) << "frame " << n;
    EXPECT_TRUE(numbers.empty() || n >= numbers.back());
    numbers.push_back(n);
  }
  producer.join();
  playout.wait();
  capture.stop();
  EXPECT_EQ(playout.counters().frames, frames);
  EXPECT_EQ(playout.counters().error.kind, Errc::None) << playout.counters().error.message();
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  // The two run by clocks of their own, and a slow machine skips some.
  EXPECT_GE(numbers.size(), frames / 4);
  EXPECT_EQ(numbers.empty() ? 0 : numbers.back(), frames - 1);
  EXPECT_TRUE(in->set("OSD Text Mode", 0));
}

TEST_F(VividTest, PlaysOutOfSeveralPlanesOfOne) {
  const auto out = Vivid::find(capabilities(SlotFlow::Playout, true));
  ASSERT_TRUE(out);
  V4l2Peer peer = openPeer(
      *out,
      {.flow = SlotFlow::Playout, .pixelFormat = V4L2_PIX_FMT_NV12, .input = hdmiOutput, .timeout = 300ms});
  ASSERT_TRUE(peer.start(hostSlots()));
  const Bytes black(peer.frameBytes());
  for(int n = 0; n < 10; ++n) {
    std::uint32_t slot{};
    ASSERT_EQ(peer.buffer()->ring().acquire(slot, ample), RingStatus::Ok);
    ASSERT_EQ(peer.buffer()->ring().publish(slot, 0, black.size()), RingStatus::Ok);
  }
  peer.buffer()->ring().closeProducer();
  peer.wait();
  EXPECT_EQ(peer.counters().frames, 10U);
  EXPECT_EQ(peer.counters().error.kind, Errc::None) << peer.counters().error.message();
}

} // namespace
} // namespace rdmagpu::v4l2test
