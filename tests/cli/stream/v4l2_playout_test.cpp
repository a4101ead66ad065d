#include "stream/v4l2_playout.hpp"

#include "frames/stop_flag.hpp"
#include "stream/read_ahead_feed.hpp"
#include "stream/v4l2_report.hpp"
#include "support.hpp"

#include "../../peers/v4l2/v4l2_fixture.hpp"

#include <atomic>
#include <thread>

namespace rdmagpu::v4l2test {
namespace {

using cli::Failure;
using cli::StreamReport;
using cli::test::Letters;

constexpr std::uint64_t clip = 12;

/// A device in software that sends what the program plays out to it.
class V4l2PlayoutRun : public V4l2Test {
protected:
  void SetUp() override { reset({.capabilities = output}); }

  std::optional<Failure> run(Letters& input, std::uint32_t slots = 4) {
    V4l2Config config = pointers(SlotFlow::Playout);
    config.primeFrames = slots;
    V4l2Peer peer = openPeer(config);
    report.device = cli::deviceReport(peer);
    EXPECT_TRUE(peer.start(hostConfig(SlotFlow::Playout, slots)));
    auto queue = CopyQueue::make(peer.buffer()->applicationBuffer());
    EXPECT_TRUE(queue);
    cli::ReadAheadFeed feed(cli::FrameSequence(input, 1, cli::endless), {cli::CheckMode::Kind::None},
                            peer.buffer()->ring(), stop);
    return cli::runV4l2Playout({.peer = peer, .queue = *queue, .feed = feed, .stop = stop}, report);
  }
  static void send(std::uint64_t frames) {
    for(std::uint64_t n = 0; n < frames; ++n)
      ASSERT_TRUE(complete());
  }
  static std::string letters(std::uint64_t n) { return Letters::frame(n, frameBytes); }

  StreamReport report{};
  std::atomic<bool> stop{};
};

TEST_F(V4l2PlayoutRun, SendsTheInputAndCountsIt) {
  Letters input(frameBytes, clip);
  std::thread device{[] { send(clip); }};
  const auto failure = run(input);
  device.join();
  EXPECT_FALSE(failure) << failure->message;
  EXPECT_EQ(report.totals.frames, clip);
  EXPECT_EQ(report.totals.bytes, clip * frameBytes);
  EXPECT_EQ(report.latency.count(), 0U);
  EXPECT_EQ(report.ring.underruns, 0U);
  EXPECT_EQ(report.device->lost, 0U);
  ASSERT_EQ(sent().size(), clip);
  for(std::uint64_t n = 0; n < clip; ++n)
    EXPECT_EQ(cli::test::text(sent()[n]), letters(n)) << n;
}

TEST_F(V4l2PlayoutRun, AnInputShorterThanTheRingIsSent) {
  Letters input(frameBytes, 2);
  std::thread device{[] { send(2); }};
  EXPECT_FALSE(run(input));
  device.join();
  EXPECT_EQ(report.totals.frames, 2U);
}

TEST_F(V4l2PlayoutRun, FramesThatTheDeviceLeftOutAreUnderruns) {
  Letters input(frameBytes, 4);
  std::thread device{[] {
    for(const std::uint32_t sequence : {0U, 3U, 4U, 5U})
      ASSERT_TRUE(complete(0, {.sequence = sequence}));
  }};
  EXPECT_FALSE(run(input));
  device.join();
  EXPECT_EQ(report.device->lost, 2U);
  EXPECT_EQ(report.ring.underruns, 2U);
  EXPECT_EQ(report.totals.frames, 4U);
}

TEST_F(V4l2PlayoutRun, AnInputThatFailsIsTheFailureBehindWhatWasSent) {
  Letters input(frameBytes, 5, cli::InputError{cli::InputErrorKind::Truncated, "cut off"});
  std::thread device{[] { send(5); }};
  const auto failure = run(input);
  device.join();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message, "cut off");
  EXPECT_EQ(report.totals.frames, 5U);
}

TEST_F(V4l2PlayoutRun, ADeviceThatIsLostEndsIt) {
  Letters input(frameBytes, clip);
  std::thread device{[] {
    send(3);
    unplug();
  }};
  const auto failure = run(input);
  device.join();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, "Lost");
}

TEST_F(V4l2PlayoutRun, TheStopFlagEndsIt) {
  Letters input(frameBytes, clip);
  std::thread device{[this] {
    EXPECT_TRUE(awaitQueued(4));
    stop = true;
  }};
  EXPECT_FALSE(run(input));
  device.join();
  EXPECT_EQ(report.totals.frames, 0U);
}

TEST_F(V4l2PlayoutRun, ADeviceOfTheOtherDirectionIsToldByTheOption) {
  const auto playout = V4l2Peer::open("/dev/video0", pointers());
  ASSERT_FALSE(playout);
  EXPECT_THAT(cli::v4l2Failure(playout.error(), false).message, HasSubstr("the device must capture"));
  reset({.capabilities = capture});
  const auto capturing = V4l2Peer::open("/dev/video0", pointers(SlotFlow::Playout));
  ASSERT_FALSE(capturing);
  EXPECT_THAT(cli::v4l2Failure(capturing.error(), true).message, HasSubstr("a device that puts out"));
}

} // namespace
} // namespace rdmagpu::v4l2test
