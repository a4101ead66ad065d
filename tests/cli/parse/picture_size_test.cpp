#include "parse/picture_size.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

TEST(PictureSizeText, TakesWidthByHeight) {
  EXPECT_EQ(*parsePictureSize("1920x1080"), (PictureSize{1920, 1080}));
  EXPECT_EQ(*parsePictureSize("1x1"), (PictureSize{1, 1}));
  EXPECT_EQ(*parsePictureSize("65536x65536"), (PictureSize{65536, 65536}));
}

TEST(PictureSizeText, RefusesZero) {
  expectError(
      errorOf(parsePictureSize("0x1080")), InputErrorKind::BadValue,
      "'0x1080' is no picture size: '0' is no width or height: these are whole numbers from 1 to 65536");
  expectError(errorOf(parsePictureSize("1920x0")), InputErrorKind::BadValue, "'0' is no width or height");
}

TEST(PictureSizeText, RefusesAbsurdSizes) {
  expectError(errorOf(parsePictureSize("65537x1")), InputErrorKind::BadValue,
              "'65537' is no width or height");
  expectError(errorOf(parsePictureSize("1x99999999999999999999")), InputErrorKind::BadValue,
              "from 1 to 65536");
}

TEST(PictureSizeText, RefusesJunk) {
  for(const char* text : {"", "x", "1920", "1920x", "x1080", "1920X1080", "1920:1080", "1920 x1080"})
    expectError(errorOf(parsePictureSize(text)), InputErrorKind::BadValue, "is no picture size");
  for(const char* text : {"-1x5", "1920x1080x3", "1920x1080p"})
    expectError(errorOf(parsePictureSize(text)), InputErrorKind::BadValue, "is no picture size");
}

} // namespace
} // namespace rdmagpu::cli
