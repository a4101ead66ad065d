#include "parse/count.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

TEST(Count, TakesBothEndsOfTheRange) {
  EXPECT_EQ(*parseCount("1", 1, 64), 1U);
  EXPECT_EQ(*parseCount("64", 1, 64), 64U);
  EXPECT_EQ(*parseCount("18446744073709551615", 0, UINT64_MAX), UINT64_MAX);
}

TEST(Count, RefusesOutsideTheRangeAndNamesIt) {
  expectError(errorOf(parseCount("0", 1, 64)), InputErrorKind::BadValue,
              "'0' is not a whole number from 1 to 64");
  expectError(errorOf(parseCount("65", 1, 64)), InputErrorKind::BadValue, "'65' is not a whole number");
  expectError(errorOf(parseCount("18446744073709551616", 0, UINT64_MAX)), InputErrorKind::BadValue,
              "from 0 to 18446744073709551615");
}

TEST(Count, RefusesJunk) {
  for(const char* text : {"", "-1", "+1", "1.0", "4K", " 1", "1 ", "one"})
    expectError(errorOf(parseCount(text, 0, 64)), InputErrorKind::BadValue,
                "is not a whole number from 0 to 64");
}

} // namespace
} // namespace rdmagpu::cli
