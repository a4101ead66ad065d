#include "cli/support/frames.hpp"
#include "cli/support/pipe.hpp"
#include "cli/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace rdmagpu::cli {
namespace {

using test::expectError;
using test::FedPipe;
using test::readAll;
using test::ReadBack;
using test::TempDir;

constexpr std::size_t frameBytes = 24; // 4x4 in 4:2:0
const std::string header = "YUV4MPEG2 W4 H4 F60:1 Ip A1:1 C420jpeg\n";

std::string payload(char c) { return std::string(frameBytes, c); }

/// From a file, and from a pipe that trickles: both must give the same.
struct Y4mInput : testing::TestWithParam<bool> {
  TempDir dir;

  ReadBack readBack(const std::string& content, const FrameOptions& options = {}) {
    if(!GetParam())
      return readAll(dir.write("clip.y4m", content), options);
    const FedPipe pipe(content, 7);
    return readAll(pipe.path(), options);
  }
};
INSTANTIATE_TEST_SUITE_P(From, Y4mInput, testing::Values(false, true),
                         [](const auto& test) { return std::string(test.param ? "Pipe" : "File"); });

TEST_P(Y4mInput, FramesAreThePayloadsWithoutTheirLines) {
  const auto got = readBack(header + "FRAME\n" + payload('a') + "FRAME\n" + payload('b'));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector{payload('a'), payload('b')}));
}

TEST_P(Y4mInput, FrameLinesMayHaveParameters) {
  const auto got = readBack(header + "FRAME Ippp Xcomment\n" + payload('a') + "FRAME \n" + payload('b'));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector{payload('a'), payload('b')}));
}

TEST_P(Y4mInput, PayloadMayLookLikeLines) {
  std::string tricky = "FRAME\nFRAME\nYUV4MPEG2 W\n\n\n";
  tricky.resize(frameBytes, '\n');
  const auto got = readBack(header + "FRAME\n" + tricky + "FRAME\n" + payload('b'));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector{tricky, payload('b')}));
}

TEST_P(Y4mInput, FramesLargerThanAnyBufferComeWhole) {
  std::string large(3 * 300 * 200, '\0');
  for(std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<char>(i * 31 + i / 251);
  const auto got = readBack("YUV4MPEG2 W300 H200 C444\nFRAME\n" + large + "FRAME\n" + large);
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector{large, large}));
}

TEST_P(Y4mInput, TruncatedLastFrameIsAnErrorAfterTheWholeOnes) {
  const auto got = readBack(header + "FRAME\n" + payload('a') + "FRAME\n" + std::string(10, 'b'));
  EXPECT_EQ(got.frames, std::vector{payload('a')});
  expectError(got.error, InputErrorKind::Truncated, ": frame 1 is truncated: 24 bytes expected, 10 found");
}

TEST_P(Y4mInput, FrameLineWithoutAFrameIsTruncated) {
  const auto got = readBack(header + "FRAME\n");
  expectError(got.error, InputErrorKind::Truncated, ": frame 0 is truncated: 24 bytes expected, 0 found");
}

TEST_P(Y4mInput, EndInAFrameLineIsTruncated) {
  const auto got = readBack(header + "FRAME\n" + payload('a') + "FRAM");
  EXPECT_EQ(got.frames.size(), 1U);
  expectError(got.error, InputErrorKind::Truncated,
              ": frame 1 is truncated: the input ends in its FRAME line, after 'FRAM'");
}

TEST_P(Y4mInput, OtherLineInPlaceOfFrameIsBroken) {
  const auto got = readBack(header + "FRAME\n" + payload('a') + "FRAMES\n" + payload('b'));
  EXPECT_EQ(got.frames.size(), 1U);
  expectError(got.error, InputErrorKind::BadFormat, ": frame 1 must begin with a line FRAME, found 'FRAMES'");
}

TEST_P(Y4mInput, BytesThatAreNoLineAreBroken) {
  const auto got = readBack(header + std::string(5000, '\x80'));
  expectError(got.error, InputErrorKind::BadFormat,
              ": frame 0 must begin with a line FRAME, found '\\x80\\x80");
}

TEST_P(Y4mInput, EndlessFrameLineIsBroken) {
  const auto got = readBack(header + "FRAME X" + std::string(5000, 'x') + "\n" + payload('a'));
  expectError(got.error, InputErrorKind::BadFormat, ": frame 0 has a FRAME line of more than 1024 bytes");
}

TEST_P(Y4mInput, HeaderWithoutFramesIsEmpty) {
  expectError(readBack(header).error, InputErrorKind::Empty,
              ": has a header and no frame: at least one is expected");
}

TEST_P(Y4mInput, EndInTheHeaderIsTruncated) {
  expectError(readBack("YUV4MPEG2 W4 H4").error, InputErrorKind::Truncated,
              ": ends in its Y4M header, after 15 bytes");
}

TEST_P(Y4mInput, EndlessHeaderIsBroken) {
  expectError(readBack("YUV4MPEG2 W4 H4 X" + std::string(5000, 'x') + "\n").error, InputErrorKind::BadFormat,
              ": has a Y4M header of more than 1024 bytes");
}

TEST_P(Y4mInput, LongestHeaderIsTaken) {
  std::string longest = "YUV4MPEG2 W4 H4 X";
  longest.resize(1024, 'x');
  EXPECT_EQ(readBack(longest + "\nFRAME\n" + payload('a')).frames, std::vector{payload('a')});
  expectError(readBack(longest + "x\nFRAME\n" + payload('a')).error, InputErrorKind::BadFormat,
              "more than 1024 bytes");
}

TEST_P(Y4mInput, BrokenHeaderNamesTheFileAndTheParameter) {
  expectError(readBack("YUV4MPEG2 W0 H4\nFRAME\n").error, InputErrorKind::BadFormat,
              ": broken Y4M header: parameter W: '0' is no width or height");
}

TEST_P(Y4mInput, OptionsThatAgreeAreTaken) {
  const auto got = readBack(header + "FRAME\n" + payload('a'),
                            {.pixelFormat = PixelFormat::Yuv420p, .size = PictureSize{4, 4}, .bytes = 24});
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames.size(), 1U);
}

TEST_P(Y4mInput, OptionsThatContradictAreRefused) {
  const std::string clip = header + "FRAME\n" + payload('a');
  expectError(readBack(clip, {.pixelFormat = PixelFormat::Uyvy422, .size = {}, .bytes = {}}).error,
              InputErrorKind::Contradiction,
              ": --pix uyvy422 contradicts the Y4M header, which says yuv420p");
  expectError(readBack(clip, {.pixelFormat = {}, .size = PictureSize{4, 8}, .bytes = {}}).error,
              InputErrorKind::Contradiction, ": --size 4x8 contradicts the Y4M header, which says 4x4");
  expectError(readBack(clip, {.pixelFormat = {}, .size = {}, .bytes = 25}).error,
              InputErrorKind::Contradiction,
              ": --bytes 25 contradicts the Y4M header, which says 24 bytes a frame");
}

TEST_P(Y4mInput, TheMagicAloneIsAHeader) {
  expectError(readBack("YUV4MPEG2").error, InputErrorKind::Truncated,
              ": ends in its Y4M header, after 9 bytes");
  expectError(readBack("YUV4MPEG2\n").error, InputErrorKind::BadFormat,
              ": broken Y4M header: parameters W and H are missing");
  expectError(readBack("YUV4MPEG").error, InputErrorKind::BadFormat, ": is not Y4M");
}

TEST(Y4mReader, TellsWhatTheHeaderSays) {
  const TempDir dir;
  const auto reader = openFrames(dir.write("clip.y4m", header + "FRAME\n" + payload('a')), {});
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->describe(), "Y4M 4x4 yuv420p 60/1 fps");
  EXPECT_EQ((*reader)->rate(), (Rate{60, 1}));
  EXPECT_EQ((*reader)->frameBytes(), frameBytes);
}

TEST(Y4mReader, ExpectsAsManyFramesAsTheFileHolds) {
  const TempDir dir;
  const std::string frame = "FRAME\n" + payload('a');
  const auto whole = openFrames(dir.write("whole.y4m", header + frame + frame + frame), {});
  ASSERT_TRUE(whole);
  EXPECT_EQ((*whole)->expectedFrames(), 3U);
}

TEST(Y4mReader, ExpectsNoNumberWhereTheSizeDoesNotTell) {
  const TempDir dir;
  const auto cut = openFrames(dir.write("cut.y4m", header + "FRAME\nabc"), {});
  ASSERT_TRUE(cut);
  EXPECT_FALSE((*cut)->expectedFrames());
  const FedPipe pipe(header + "FRAME\n" + payload('a'), 100);
  const auto piped = openFrames(pipe.path(), {});
  ASSERT_TRUE(piped);
  EXPECT_FALSE((*piped)->expectedFrames());
}

TEST(Y4mReader, TellsWhichFileItIs) {
  const TempDir dir;
  const auto reader = openFrames(dir.write("clip.y4m", header + "FRAME\n" + payload('a')), {});
  ASSERT_TRUE(reader);
  EXPECT_TRUE((*reader)->file());
}

/// A pipe that stays open after `content`, and a flag that is set once opening is done.
std::optional<InputError> errorAfterStop(const std::string& content) {
  const test::Pipe pipe;
  pipe.write(content);
  std::atomic<bool> stop{false};
  const auto reader =
      openFrames(pipe.readPath(), {.pixelFormat = {}, .size = {}, .bytes = {}, .stop = &stop});
  if(!reader)
    return reader.error();
  stop = true;
  return readAll(**reader).error;
}

TEST(Y4mReader, FlagEndsTheWaitForAFrameLine) {
  expectError(errorAfterStop(header), InputErrorKind::Interrupted, ": interrupted");
}

TEST(Y4mReader, FlagEndsTheWaitForAFramesRest) {
  expectError(errorAfterStop(header + "FRAME\nabc"), InputErrorKind::Interrupted, ": interrupted");
}

TEST(Y4mReader, RewindStartsAtTheFirstFrame) {
  const TempDir dir;
  const auto reader =
      openFrames(dir.write("clip.y4m", header + "FRAME\n" + payload('a') + "FRAME\n" + payload('b')), {});
  ASSERT_TRUE(reader);
  const auto first = readAll(**reader);
  ASSERT_TRUE((*reader)->rewind());
  const auto second = readAll(**reader);
  EXPECT_EQ(first.frames, (std::vector{payload('a'), payload('b')}));
  EXPECT_EQ(second.frames, first.frames);
  EXPECT_FALSE(second.error);
}

TEST(Y4mReader, RewindOfAPipeIsRefused) {
  const FedPipe pipe(header + "FRAME\n" + payload('a'), 100);
  const auto reader = openFrames(pipe.path(), {});
  ASSERT_TRUE(reader);
  expectError(test::errorOf((*reader)->rewind()), InputErrorKind::Unsupported,
              ": cannot be started again: that needs a regular file, not a pipe or device");
}

} // namespace
} // namespace rdmagpu::cli
