#include "cli/support/frames.hpp"
#include "cli/support/pipe.hpp"
#include "cli/support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::expectError;
using test::FedPipe;
using test::readAll;
using test::TempDir;

FrameOptions picture(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  return {.pixelFormat = format, .size = PictureSize{width, height}, .bytes = {}};
}

FrameOptions frameOf(std::size_t bytes) { return {.pixelFormat = {}, .size = {}, .bytes = bytes}; }

TEST(RawReader, ReadsFramesOfAPicture) {
  const TempDir dir;
  const auto got = readAll(dir.write("clip.yuv", "abcdefghABCDEFGH"), picture(PixelFormat::Uyvy422, 2, 2));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector<std::string>{"abcdefgh", "ABCDEFGH"}));
}

TEST(RawReader, ReadsFramesOfSoManyBytes) {
  const TempDir dir;
  const auto got = readAll(dir.write("clip.bin", "abcdef"), frameOf(3));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector<std::string>{"abc", "def"}));
}

TEST(RawReader, ReadsAPipeFromItsFirstByte) {
  const FedPipe pipe("YUV4MPEG3abcdefghijk", 3);
  const auto got = readAll(pipe.path(), frameOf(4));
  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.frames, (std::vector<std::string>{"YUV4", "MPEG", "3abc", "defg", "hijk"}));
}

TEST(RawReader, TellsWhatItReads) {
  const TempDir dir;
  const std::string path = dir.write("clip", std::string(16, 'x'));
  const auto of = [&](const FrameOptions& options) { return std::move(*openFrames(path, options)); };
  EXPECT_EQ(of(picture(PixelFormat::Uyvy422, 2, 2))->describe(), "raw 2x2 uyvy422");
  EXPECT_EQ(of(frameOf(4))->describe(), "raw frames of 4 bytes");
  EXPECT_EQ(of(frameOf(4))->frameBytes(), 4U);
  EXPECT_EQ(of(frameOf(4))->expectedFrames(), 4U);
  EXPECT_FALSE(of(frameOf(4))->rate());
}

TEST(RawReader, ExpectsNoNumberOfFramesFromAPipe) {
  const FedPipe pipe("abcd", 4);
  const auto reader = openFrames(pipe.path(), frameOf(2));
  ASSERT_TRUE(reader);
  EXPECT_FALSE((*reader)->expectedFrames());
}

TEST(RawReader, FileThatDoesNotDivideIsRefusedAtOnce) {
  const TempDir dir;
  const std::string path = dir.write("clip.yuv", std::string(1000, 'x'));
  expectError(test::errorOf(openFrames(path, frameOf(64))), InputErrorKind::Truncated,
              path + ": 1000 bytes are not a whole number of frames of 64 bytes: 40 are left over");
}

TEST(RawReader, FileSmallerThanOneFrameIsRefused) {
  const TempDir dir;
  expectError(readAll(dir.write("clip", "abc"), frameOf(4147200)).error, InputErrorKind::Truncated,
              ": 3 bytes are not a whole number of frames of 4147200 bytes: 3 are left over");
}

TEST(RawReader, FileThatShrinksMeanwhileIsTruncated) {
  const TempDir dir;
  const std::string path = dir.write("clip", std::string(20000, 'x'));
  const auto reader = openFrames(path, frameOf(10000));
  ASSERT_TRUE(reader);
  std::filesystem::resize_file(path, 15000);
  const auto got = readAll(**reader);
  EXPECT_EQ(got.frames.size(), 1U);
  expectError(got.error, InputErrorKind::Truncated,
              ": frame 1 is truncated: 10000 bytes expected, 5000 found");
}

TEST(RawReader, PipeThatEndsInAFrameIsTruncated) {
  const FedPipe pipe("abcdefghij", 3);
  const auto got = readAll(pipe.path(), frameOf(4));
  EXPECT_EQ(got.frames.size(), 2U);
  expectError(got.error, InputErrorKind::Truncated, ": frame 2 is truncated: 4 bytes expected, 2 found");
}

TEST(RawReader, WithoutOptionsTheyAreNamed) {
  const TempDir dir;
  expectError(
      readAll(dir.write("clip", "abcd")).error, InputErrorKind::BadFormat,
      ": is not Y4M, so what a frame is must be said: --pix FORMAT and --size WIDTHxHEIGHT, or --bytes N");
}

TEST(RawReader, PixAndSizeNeedEachOther) {
  const TempDir dir;
  const std::string path = dir.write("clip", "abcd");
  expectError(readAll(path, {.pixelFormat = PixelFormat::Gray, .size = {}, .bytes = {}}).error,
              InputErrorKind::BadValue, "--pix gray needs --size WxH beside it");
  expectError(readAll(path, {.pixelFormat = {}, .size = PictureSize{2, 2}, .bytes = {}}).error,
              InputErrorKind::BadValue, "--size 2x2 needs --pix FORMAT beside it");
}

TEST(RawReader, BytesDoNotNeedHalfAPicture) {
  const TempDir dir;
  const std::string path = dir.write("clip", "abcd");
  expectError(readAll(path, {.pixelFormat = PixelFormat::Gray, .size = {}, .bytes = 4}).error,
              InputErrorKind::BadValue, "or leave it out: --bytes 4 says enough");
  expectError(readAll(path, {.pixelFormat = {}, .size = PictureSize{2, 2}, .bytes = 4}).error,
              InputErrorKind::BadValue, "or leave it out: --bytes 4 says enough");
}

TEST(RawReader, BytesBesidePictureMustAgree) {
  const TempDir dir;
  const std::string path = dir.write("clip", "abcd");
  FrameOptions options = picture(PixelFormat::Gray, 2, 2);
  options.bytes = 4;
  EXPECT_FALSE(readAll(path, options).error);
  options.bytes = 5;
  expectError(readAll(path, options).error, InputErrorKind::BadValue,
              "--bytes 5 contradicts --pix and --size: a frame of 2x2 gray has 4 bytes");
}

TEST(RawReader, BadPictureIsRefused) {
  const TempDir dir;
  const std::string path = dir.write("clip", "abcd");
  expectError(readAll(path, picture(PixelFormat::V210, 3, 2)).error, InputErrorKind::BadValue,
              "the width must be even");
  expectError(readAll(path, picture(PixelFormat::Gray, 0, 2)).error, InputErrorKind::BadValue,
              "0x2 is no picture size");
}

TEST(RawReader, FrameOfNoBytesIsRefused) {
  const TempDir dir;
  expectError(readAll(dir.write("clip", "abcd"), frameOf(0)).error, InputErrorKind::BadValue,
              "a frame has at least 1 byte");
}

TEST(RawReader, RewindStartsAtTheFirstFrame) {
  const TempDir dir;
  const auto reader = openFrames(dir.write("clip", "abcdef"), frameOf(2));
  ASSERT_TRUE(reader);
  std::string frame(2, '\0');
  ASSERT_TRUE((*reader)->read(std::as_writable_bytes(std::span(frame))));
  ASSERT_TRUE((*reader)->rewind());
  EXPECT_EQ(readAll(**reader).frames, (std::vector<std::string>{"ab", "cd", "ef"}));
}

TEST(RawReader, RewindOfAPipeIsRefused) {
  const FedPipe pipe("abcd", 4);
  const auto reader = openFrames(pipe.path(), frameOf(2));
  ASSERT_TRUE(reader);
  expectError(test::errorOf((*reader)->rewind()), InputErrorKind::Unsupported, ": cannot be started again");
}

} // namespace
} // namespace rdmagpu::cli
