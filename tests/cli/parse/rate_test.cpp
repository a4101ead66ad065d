#include "parse/rate.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

Rate rate(std::string_view text) {
  const auto parsed = parseRate(text);
  EXPECT_TRUE(parsed && *parsed) << text;
  return parsed && *parsed ? **parsed : Rate{};
}

TEST(RateText, WholeNumber) {
  EXPECT_EQ(rate("60"), (Rate{60, 1}));
  EXPECT_EQ(rate("1000000"), (Rate{1000000, 1}));
}

TEST(RateText, FractionIsTakenAsItIsInLowestTerms) {
  EXPECT_EQ(rate("60000/1001"), (Rate{60000, 1001}));
  EXPECT_EQ(rate("50/2"), (Rate{25, 1}));
  EXPECT_EQ(rate("1/10"), (Rate{1, 10}));
}

TEST(RateText, SpokenNtscRatesAreTheTrueOnes) {
  EXPECT_EQ(rate("23.976"), (Rate{24000, 1001}));
  EXPECT_EQ(rate("23.98"), (Rate{24000, 1001}));
  EXPECT_EQ(rate("29.97"), (Rate{30000, 1001}));
  EXPECT_EQ(rate("47.952"), (Rate{48000, 1001}));
  EXPECT_EQ(rate("59.94"), (Rate{60000, 1001}));
  EXPECT_EQ(rate("59.9401"), (Rate{60000, 1001}));
  EXPECT_EQ(rate("119.88"), (Rate{120000, 1001}));
}

TEST(RateText, OtherDecimalsAreExact) {
  EXPECT_EQ(rate("12.5"), (Rate{25, 2}));
  EXPECT_EQ(rate("60.0"), (Rate{60, 1}));
  EXPECT_EQ(rate("59.9"), (Rate{599, 10}));
  EXPECT_EQ(rate("59.95"), (Rate{1199, 20}));
  EXPECT_EQ(rate("0.000001"), (Rate{1, 1000000}));
}

TEST(RateText, MaxAndFreeAreNoRate) {
  for(const char* text : {"max", "free"}) {
    const auto parsed = parseRate(text);
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(*parsed);
  }
}

TEST(RateText, RefusesZero) {
  for(const char* text : {"0", "0.0", "0/1", "60/0", "0/0"})
    expectError(errorOf(parseRate(text)), InputErrorKind::BadValue, "is no frame rate: it is a number");
}

TEST(RateText, RefusesWhatNoClockCanPace) {
  for(const char* text : {"1000001", "1000000.5", "2000001/2", "999999999"})
    expectError(errorOf(parseRate(text)), InputErrorKind::BadValue, "up to 1000000 frames a second");
}

TEST(RateText, RefusesJunk) {
  for(const char* text : {"", "-60", "+60", "fast", "60fps", ".5", "60.", "1.2.3", "60/", "/1001", "60/1/1",
                          "59,94", "1e3", "0.0000001", "1234567890", "99999999999999999999/1", "MAX"})
    expectError(errorOf(parseRate(text)), InputErrorKind::BadValue,
                "'" + std::string(text) + "' is no frame rate");
}

TEST(RateText, RefusesFractionsBeyond32Bits) {
  expectError(errorOf(parseRate("4294967297/4294967296")), InputErrorKind::BadValue, "is no frame rate");
}

} // namespace
} // namespace rdmagpu::cli
