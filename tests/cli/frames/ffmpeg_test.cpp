// What FFmpeg writes is what these readers were made for: sizes and bytes are compared with the real
// program's.
#include "frames/frame_reader.hpp"

#include "cli/support/frames.hpp"
#include "cli/support/temp_dir.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmagpu::cli {
namespace {

using test::readAll;
using test::TempDir;

struct Ffmpeg : testing::Test {
  TempDir dir;

  void SetUp() override {
    if(std::system("ffmpeg -version >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "ffmpeg is not installed";
  }

  /// A moving picture of this size, to every output in `outputs`.
  bool write(PictureSize size, const std::string& outputs) const {
    const std::string command = fmt::format(
        "cd '{}' && ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=64x64:rate=25,scale={}:{} {}",
        dir.path(), size.width, size.height, outputs);
    return std::system(command.c_str()) == 0;
  }
};

struct FfmpegFrames : Ffmpeg, testing::WithParamInterface<PictureSize> {};

// Odd, even, around v210's groups of 6 and 48 pixels, and one of broadcast.
INSTANTIATE_TEST_SUITE_P(Sizes, FfmpegFrames,
                         testing::Values(PictureSize{1, 1}, PictureSize{17, 9}, PictureSize{46, 3},
                                         PictureSize{48, 4}, PictureSize{50, 2}, PictureSize{97, 7},
                                         PictureSize{1920, 6}),
                         [](const auto& test) {
                           return fmt::format("{}x{}", test.param.width, test.param.height);
                         });

TEST_P(FfmpegFrames, PlanarAndRgbFramesHaveItsSize) {
  std::string outputs;
  const std::vector<std::string> formats{"nv12", "p010le", "yuv420p", "yuv422p", "yuv422p10le",
                                         "bgra", "rgba",   "rgb24",   "gray"};
  for(const std::string& format : formats)
    outputs += fmt::format(" -frames:v 2 -pix_fmt {0} -f rawvideo {0}.raw", format);
  ASSERT_TRUE(write(GetParam(), outputs));
  for(const std::string& format : formats) {
    const auto bytes = frameBytes(*parsePixelFormat(format), GetParam());
    ASSERT_TRUE(bytes);
    EXPECT_EQ(std::filesystem::file_size(dir.path(format + ".raw")), 2 * *bytes) << format;
  }
}

TEST_P(FfmpegFrames, PackedFramesHaveItsSizeOrAreRefused) {
  const std::string outputs = "-frames:v 2 -pix_fmt uyvy422 -f rawvideo uyvy422.raw "
                              "-frames:v 2 -pix_fmt yuyv422 -f rawvideo yuyv422.raw ";
  const bool odd = GetParam().width % 2 != 0;
  // It pads odd widths of the first two, and refuses v210 as this program does.
  ASSERT_TRUE(write(GetParam(), outputs + (odd ? "" : "-frames:v 2 -c:v v210 -f rawvideo v210.raw")));
  for(const char* format : {"uyvy422", "yuyv422", "v210"}) {
    const auto bytes = frameBytes(*parsePixelFormat(format), GetParam());
    ASSERT_EQ(bytes.has_value(), !odd);
    if(bytes) {
      EXPECT_EQ(std::filesystem::file_size(dir.path(std::string(format) + ".raw")), 2 * *bytes) << format;
    }
  }
}

/// Every layout that its Y4M writer has.
std::vector<std::string> y4mFormats(bool oddWidth) {
  std::vector<std::string> formats{"yuv420p",  "yuv422p",   "yuv444p",   "yuv411p",   "yuva444p",
                                   "gray",     "gray9",     "gray10",    "gray12",    "gray16",
                                   "yuv444p9", "yuv444p10", "yuv444p12", "yuv444p14", "yuv444p16"};
  // For odd widths it writes half a sample too little of two-byte chroma, and then refuses to read it itself.
  if(!oddWidth)
    formats.insert(formats.end(), {"yuv420p9", "yuv422p9", "yuv420p10", "yuv422p10", "yuv420p12", "yuv422p12",
                                   "yuv420p14", "yuv422p14", "yuv420p16", "yuv422p16"});
  return formats;
}

TEST_P(FfmpegFrames, Y4mPayloadsAreItsRawFrames) {
  const auto formats = y4mFormats(GetParam().width % 2 != 0);
  std::string outputs;
  for(const std::string& format : formats)
    outputs += fmt::format(" -frames:v 2 -pix_fmt {0} -strict -1 -f yuv4mpegpipe {0}.y4m "
                           "-frames:v 2 -pix_fmt {0} -f rawvideo {0}.raw",
                           format);
  ASSERT_TRUE(write(GetParam(), outputs));
  for(const std::string& format : formats) {
    const auto got = readAll(dir.path(format + ".y4m"));
    EXPECT_FALSE(got.error) << format << ": " << got.error->message;
    ASSERT_EQ(got.frames.size(), 2U) << format;
    EXPECT_TRUE(got.frames[0] + got.frames[1] == dir.read(format + ".raw")) << format;
  }
}

TEST_F(Ffmpeg, Y4mHeaderSaysWhatWasAskedFor) {
  ASSERT_TRUE(
      write({72, 58}, "-vf setfield=tff -r 30000/1001 -frames:v 1 -pix_fmt yuv422p10 -strict -1 clip.y4m"));
  const auto reader = openFrames(dir.path("clip.y4m"), {});
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->describe(), "Y4M 72x58 yuv422p10le 30000/1001 fps top field first");
  EXPECT_EQ((*reader)->expectedFrames(), 1U);
}

} // namespace
} // namespace rdmagpu::cli
