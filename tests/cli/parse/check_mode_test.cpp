#include "parse/check_mode.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

TEST(CheckModeText, AllChecksEveryFrame) {
  const auto mode = parseCheckMode("all");
  ASSERT_TRUE(mode);
  EXPECT_TRUE(mode->checks(0) && mode->checks(1) && mode->checks(29));
}

TEST(CheckModeText, NoneChecksNoFrame) {
  const auto mode = parseCheckMode("none");
  ASSERT_TRUE(mode);
  EXPECT_FALSE(mode->checks(0) || mode->checks(1));
}

TEST(CheckModeText, SampleChecksOneFrameInN) {
  const auto mode = parseCheckMode("sample:30");
  ASSERT_TRUE(mode);
  EXPECT_EQ(*mode, (CheckMode{CheckMode::Kind::Sample, 30}));
  EXPECT_TRUE(mode->checks(0) && mode->checks(30) && mode->checks(60));
  EXPECT_FALSE(mode->checks(1) || mode->checks(29) || mode->checks(31));
}

TEST(CheckModeText, RefusesOtherWordsAndNamesTheRule) {
  for(const char* text : {"", "ALL", "some", "sample", "sample:", "sample:0", "sample:-1", "sample:x",
                          "sample:3x", "30", "sample:99999999999999999999"})
    expectError(errorOf(parseCheckMode(text)), InputErrorKind::BadValue,
                "'" + std::string(text) + "' is no check: it is all, none, or sample:N");
}

} // namespace
} // namespace rdmagpu::cli
