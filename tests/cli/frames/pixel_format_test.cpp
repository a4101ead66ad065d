#include "frames/pixel_format.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

std::size_t bytes(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  const auto size = frameBytes(format, {width, height});
  EXPECT_TRUE(size);
  return size ? *size : 0;
}

TEST(PixelFormat, NamesGoBothWays) {
  for(const char* text : {"uyvy422", "yuyv422", "v210", "nv12", "p010le", "yuv420p", "yuv422p", "yuv422p10le",
                          "bgra", "rgba", "rgb24", "gray"}) {
    const auto format = parsePixelFormat(text);
    ASSERT_TRUE(format) << text;
    EXPECT_EQ(name(*format), text);
    EXPECT_NE(pixelFormatNames().find(text), std::string::npos);
  }
}

TEST(PixelFormat, UnknownNameIsRefusedWithTheKnownOnes) {
  for(const char* text : {"", "yuv", "UYVY422", "uyvy422 ", "p010"})
    expectError(errorOf(parsePixelFormat(text)), InputErrorKind::BadValue,
                "'" + std::string(text) +
                    "' is no pixel format known here: these are uyvy422, yuyv422, v210, nv12");
}

TEST(PixelFormat, FrameBytesOfBroadcastSizes) {
  EXPECT_EQ(bytes(PixelFormat::Uyvy422, 1920, 1080), 4147200U);
  EXPECT_EQ(bytes(PixelFormat::Yuyv422, 1920, 1080), 4147200U);
  EXPECT_EQ(bytes(PixelFormat::V210, 1920, 1080), 5529600U);
  EXPECT_EQ(bytes(PixelFormat::V210, 3840, 2160), 22118400U);
  EXPECT_EQ(bytes(PixelFormat::Nv12, 1920, 1080), 3110400U);
  EXPECT_EQ(bytes(PixelFormat::P010le, 1920, 1080), 6220800U);
  EXPECT_EQ(bytes(PixelFormat::Yuv420p, 1920, 1080), 3110400U);
  EXPECT_EQ(bytes(PixelFormat::Yuv422p, 1920, 1080), 4147200U);
  EXPECT_EQ(bytes(PixelFormat::Yuv422p10le, 1920, 1080), 8294400U);
  EXPECT_EQ(bytes(PixelFormat::Bgra, 1920, 1080), 8294400U);
  EXPECT_EQ(bytes(PixelFormat::Rgba, 1920, 1080), 8294400U);
  EXPECT_EQ(bytes(PixelFormat::Rgb24, 1920, 1080), 6220800U);
  EXPECT_EQ(bytes(PixelFormat::Gray, 1920, 1080), 2073600U);
}

TEST(PixelFormat, V210LinesArePaddedToWholeGroups) {
  EXPECT_EQ(bytes(PixelFormat::V210, 48, 1), 128U);
  EXPECT_EQ(bytes(PixelFormat::V210, 50, 1), 256U);
  EXPECT_EQ(bytes(PixelFormat::V210, 2, 1), 128U);
  EXPECT_EQ(bytes(PixelFormat::V210, 1280, 720), 3456U * 720);
}

TEST(PixelFormat, PlanarChromaRoundsUp) {
  EXPECT_EQ(bytes(PixelFormat::Yuv420p, 17, 9), 17U * 9 + 2 * 9 * 5);
  EXPECT_EQ(bytes(PixelFormat::Nv12, 17, 9), 17U * 9 + 2 * 9 * 5);
  EXPECT_EQ(bytes(PixelFormat::P010le, 17, 9), 2U * (17 * 9 + 2 * 9 * 5));
  EXPECT_EQ(bytes(PixelFormat::Yuv422p, 17, 9), 17U * 9 + 2 * 9 * 9);
  EXPECT_EQ(bytes(PixelFormat::Yuv420p, 1, 1), 3U);
}

TEST(PixelFormat, PackedFormatsRefuseOddWidths) {
  for(const PixelFormat format : {PixelFormat::Uyvy422, PixelFormat::Yuyv422, PixelFormat::V210})
    expectError(errorOf(frameBytes(format, {1919, 1080})), InputErrorKind::BadValue,
                "1919x1080 " + std::string(name(format)) + ": the width must be even");
}

TEST(PixelFormat, PackedFormatsTakeOddHeights) { EXPECT_EQ(bytes(PixelFormat::Uyvy422, 2, 3), 12U); }

TEST(PixelFormat, ZeroSizesAreRefused) {
  expectError(errorOf(frameBytes(PixelFormat::Gray, {0, 1080})), InputErrorKind::BadValue,
              "0x1080 is no picture size: width and height are from 1 to 65536");
  expectError(errorOf(frameBytes(PixelFormat::Gray, {1920, 0})), InputErrorKind::BadValue,
              "1920x0 is no picture size");
}

TEST(PixelFormat, AbsurdSizesAreRefused) {
  expectError(errorOf(frameBytes(PixelFormat::Gray, {65537, 1})), InputErrorKind::BadValue, "65537x1");
  expectError(errorOf(frameBytes(PixelFormat::Gray, {1, 4294967295})), InputErrorKind::BadValue,
              "1x4294967295");
}

TEST(PixelFormat, LargestSizeDoesNotWrap) {
  EXPECT_EQ(bytes(PixelFormat::Bgra, 65536, 65536), std::size_t{1} << 34);
  EXPECT_EQ(bytes(PixelFormat::Yuv422p10le, 65536, 65536), std::size_t{1} << 34);
}

} // namespace
} // namespace rdmagpu::cli
