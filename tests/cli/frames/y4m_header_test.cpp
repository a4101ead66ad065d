#include "frames/y4m_header.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

Y4mHeader header(const std::string& parameters) {
  const auto parsed = parseY4mHeader("YUV4MPEG2 " + parameters);
  EXPECT_TRUE(parsed) << parameters << ": " << parsed.error().message;
  return parsed ? *parsed : Y4mHeader{.size = {}, .colour = &defaultY4mColour(), .rate = {}};
}

void expectBroken(const std::string& parameters, const std::string& rule) {
  expectError(errorOf(parseY4mHeader("YUV4MPEG2 " + parameters)), InputErrorKind::BadFormat, rule);
}

TEST(Y4mHeader, TakesWhatFfmpegWrites) {
  const auto h = header("W1920 H1080 F60:1 Ip A1:1 C420jpeg XYSCSS=420JPEG");
  EXPECT_EQ(h.size, (PictureSize{1920, 1080}));
  EXPECT_EQ(h.rate, (Rate{60, 1}));
  EXPECT_EQ(h.interlace, Y4mInterlace::Progressive);
  EXPECT_EQ(h.colour->pixelFormat, "yuv420p");
  EXPECT_EQ(h.describe(), "Y4M 1920x1080 yuv420p 60/1 fps");
}

TEST(Y4mHeader, ParametersComeInAnyOrder) {
  const auto h = header("XYSCSS=422 C422 A128:117 It F30000:1001 H576 W720");
  EXPECT_EQ(h.size, (PictureSize{720, 576}));
  EXPECT_EQ(h.rate, (Rate{30000, 1001}));
  EXPECT_EQ(h.describe(), "Y4M 720x576 yuv422p 30000/1001 fps top field first");
}

TEST(Y4mHeader, SpacesMayRepeat) { EXPECT_EQ(header("  W2   H3 ").size, (PictureSize{2, 3})); }

TEST(Y4mHeader, WithoutColourIs420) {
  EXPECT_EQ(header("W4 H4").colour->tag, "420jpeg");
  EXPECT_EQ(header("W4 H4").frameBytes(), 24U);
}

TEST(Y4mHeader, WithoutColourTheOlderCommentCounts) {
  EXPECT_EQ(header("W4 H4 XYSCSS=422P10").colour->tag, "422p10");
  EXPECT_EQ(header("W4 H4 XYSCSS=411").frameBytes(), 24U);
  EXPECT_EQ(header("W4 H4 XYSCSS=NOSUCH").colour->tag, "420jpeg");
}

TEST(Y4mHeader, ColourTagOverridesTheOlderComment) {
  EXPECT_EQ(header("W4 H4 C444alpha XYSCSS=444").colour->tag, "444alpha");
  EXPECT_EQ(header("W4 H4 XYSCSS=444 C420paldv").colour->tag, "420paldv");
}

TEST(Y4mHeader, CommentsAspectsAndUnknownLettersArePassedOver) {
  EXPECT_EQ(header("W4 H4 Xanything XCOLORRANGE=FULL X Ajunk Zwhat Zelse \xff").size, (PictureSize{4, 4}));
}

TEST(Y4mHeader, EveryInterlacingIsTaken) {
  EXPECT_EQ(header("W4 H4 Ip").interlace, Y4mInterlace::Progressive);
  EXPECT_EQ(header("W4 H4 It").interlace, Y4mInterlace::TopFirst);
  EXPECT_EQ(header("W4 H4 Ib").interlace, Y4mInterlace::BottomFirst);
  EXPECT_EQ(header("W4 H4 Im").interlace, Y4mInterlace::Mixed);
  EXPECT_EQ(header("W4 H4 I?").interlace, Y4mInterlace::Unknown);
  EXPECT_EQ(header("W4 H4 Ib").describe(), "Y4M 4x4 yuv420p unknown rate bottom field first");
  EXPECT_EQ(header("W4 H4 Im").describe(), "Y4M 4x4 yuv420p unknown rate mixed interlacing");
}

TEST(Y4mHeader, BadInterlacingIsRefused) {
  for(const char* text : {"I", "Iq", "Ipp"})
    expectBroken("W4 H4 " + std::string(text), "is no interlacing: it is one of ?, p, t, b, m");
}

TEST(Y4mHeader, UnknownRateIsNoRate) {
  EXPECT_FALSE(header("W4 H4 F0:0").rate);
  EXPECT_FALSE(header("W4 H4").rate);
}

TEST(Y4mHeader, BadRateIsRefused) {
  for(const char* text : {"F", "F30", "F30:0", "F0:1", "F-30:1", "F30:1:1", "F30/1", "Fx:y",
                          "F99999999999999999999:1", "F1000001:1"})
    expectBroken("W4 H4 " + std::string(text),
                 "parameter F: '" + std::string(text).substr(1) + "' is no frame rate");
}

TEST(Y4mHeader, MissingSizeIsRefused) {
  expectBroken("H4 C420", "parameter W is missing: width (W) and height (H) are required");
  expectBroken("W4 C420", "parameter H is missing");
  expectBroken("", "parameters W and H are missing: width (W) and height (H) are required");
  expectError(errorOf(parseY4mHeader("YUV4MPEG2")), InputErrorKind::BadFormat,
              "parameters W and H are missing");
}

TEST(Y4mHeader, RepeatedParametersAreRefusedWithBothValues) {
  expectBroken("W4 H4 W8", "parameter W comes twice, as '4' and as '8': it may come once");
  expectBroken("W4 H4 H4", "parameter H comes twice, as '4' and as '4'");
  expectBroken("W4 H4 F0:0 F30:1", "parameter F comes twice, as '0:0' and as '30:1'");
  expectBroken("W4 H4 Ip It", "parameter I comes twice");
  expectBroken("W4 H4 A1:1 A0:0", "parameter A comes twice");
  expectBroken("W4 H4 C420 C422", "parameter C comes twice, as '420' and as '422'");
}

TEST(Y4mHeader, CommentsMayRepeat) { EXPECT_EQ(header("Xa W4 Xa H4 Xb").size, (PictureSize{4, 4})); }

TEST(Y4mHeader, ZeroAndAbsurdSizesAreRefused) {
  expectBroken("W0 H4", "parameter W: '0' is no width or height: these are whole numbers from 1 to 65536");
  expectBroken("W4 H0", "parameter H: '0'");
  expectBroken("W65537 H4", "parameter W: '65537'");
  expectBroken("W4 H99999999999999999999", "parameter H: '99999999999999999999'");
}

TEST(Y4mHeader, JunkSizesAreRefused) {
  for(const char* text : {"W", "W-4", "W+4", "W4x4", "W4.0", "W0x10"})
    expectBroken(std::string(text) + " H4", "is no width or height");
}

TEST(Y4mHeader, UnknownColourIsRefusedWithTheKnownOnes) {
  for(const char* text : {"C", "C410", "C420p8", "C420p100", "Cmono8"})
    expectBroken("W4 H4 " + std::string(text),
                 "is no colour space known here: these are 420jpeg, 420, 420mpeg2");
}

TEST(Y4mHeader, MessagesStayPrintable) {
  expectBroken("W4 H4 C420\r", "parameter C: '420\\x0d' is no colour space");
}

TEST(Y4mHeader, LongValuesAreCutInMessages) {
  expectBroken("W4 H4 C" + std::string(500, 'a'), "'" + std::string(40, 'a') + "...' is no colour space");
}

TEST(Y4mHeader, OtherMagicIsRefused) {
  expectError(errorOf(parseY4mHeader("YUV4MPEG3 W4 H4")), InputErrorKind::BadFormat,
              "'YUV4MPEG3' is not YUV4MPEG2");
  expectError(errorOf(parseY4mHeader("YUV4MPEG2W4 H4")), InputErrorKind::BadFormat,
              "'YUV4MPEG2W4' is not YUV4MPEG2");
}

struct ColourCase {
  const char* tag;
  std::size_t bytes; ///< Of 17x9.
};
class Y4mColourBytes : public testing::TestWithParam<ColourCase> {};

TEST_P(Y4mColourBytes, ChromaRoundsUpAndDeepSamplesTakeTwoBytes) {
  EXPECT_EQ(header("W17 H9 C" + std::string(GetParam().tag)).frameBytes(), GetParam().bytes);
}

constexpr std::size_t luma = 17 * 9, quarter = 2 * 9 * 5, half = 2 * 9 * 9, fifth = 2 * 5 * 9;
INSTANTIATE_TEST_SUITE_P(
    EveryTag, Y4mColourBytes,
    testing::Values(ColourCase{"420", luma + quarter}, ColourCase{"420jpeg", luma + quarter},
                    ColourCase{"420paldv", luma + quarter}, ColourCase{"420mpeg2", luma + quarter},
                    ColourCase{"411", luma + fifth}, ColourCase{"422", luma + half},
                    ColourCase{"444", 3 * luma}, ColourCase{"444alpha", 4 * luma}, ColourCase{"mono", luma},
                    ColourCase{"mono9", 2 * luma}, ColourCase{"mono10", 2 * luma},
                    ColourCase{"mono12", 2 * luma}, ColourCase{"mono16", 2 * luma},
                    ColourCase{"420p9", 2 * (luma + quarter)}, ColourCase{"420p10", 2 * (luma + quarter)},
                    ColourCase{"420p12", 2 * (luma + quarter)}, ColourCase{"420p14", 2 * (luma + quarter)},
                    ColourCase{"420p16", 2 * (luma + quarter)}, ColourCase{"422p9", 2 * (luma + half)},
                    ColourCase{"422p10", 2 * (luma + half)}, ColourCase{"422p12", 2 * (luma + half)},
                    ColourCase{"422p14", 2 * (luma + half)}, ColourCase{"422p16", 2 * (luma + half)},
                    ColourCase{"444p9", 6 * luma}, ColourCase{"444p10", 6 * luma},
                    ColourCase{"444p12", 6 * luma}, ColourCase{"444p14", 6 * luma},
                    ColourCase{"444p16", 6 * luma}),
    [](const auto& test) { return "C" + std::string(test.param.tag); });

} // namespace
} // namespace rdmagpu::cli
