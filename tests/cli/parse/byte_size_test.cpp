#include "parse/byte_size.hpp"

#include "cli/support/frames.hpp"

#include <gtest/gtest.h>

namespace rdmagpu::cli {
namespace {

using test::errorOf;
using test::expectError;

std::size_t bytes(std::string_view text) {
  const auto size = parseByteSize(text);
  EXPECT_TRUE(size) << text;
  return size ? *size : 0;
}

void expectRefused(std::string_view text, const std::string& rule) {
  expectError(errorOf(parseByteSize(text)), InputErrorKind::BadValue, rule);
}

TEST(ByteSize, PlainNumberIsBytes) {
  EXPECT_EQ(bytes("1"), 1U);
  EXPECT_EQ(bytes("4147200"), 4147200U);
  EXPECT_EQ(bytes("18446744073709551615"), SIZE_MAX);
}

TEST(ByteSize, UnitsArePowersOf1024) {
  EXPECT_EQ(bytes("64K"), 65536U);
  EXPECT_EQ(bytes("2M"), 2U << 20);
  EXPECT_EQ(bytes("1G"), 1U << 30);
  EXPECT_EQ(bytes("1T"), std::size_t{1} << 40);
  EXPECT_EQ(bytes("64KiB"), 65536U);
  EXPECT_EQ(bytes("3TiB"), std::size_t{3} << 40);
}

TEST(ByteSize, UnitsMayBeLowerCase) {
  EXPECT_EQ(bytes("64k"), 65536U);
  EXPECT_EQ(bytes("2mib"), 2U << 20);
}

TEST(ByteSize, RefusesTheAmbiguousKB) { expectRefused("64KB", "'64KB' is no size: it is a whole number"); }

TEST(ByteSize, RefusesJunk) {
  for(const char* text :
      {"", "K", "x", "12Q", "12 K", " 12", "12 ", "0x10", "1.5M", "1e6", "64KiBs", "64Ki", "+5"})
    expectRefused(text, "is no size: it is a whole number of bytes");
}

TEST(ByteSize, RefusesNegative) { expectRefused("-1", "'-1' is no size"); }

TEST(ByteSize, RefusesZero) {
  expectRefused("0", "'0' is no size: it is at least 1 byte");
  expectRefused("0K", "at least 1 byte");
}

TEST(ByteSize, RefusesWhatDoesNotFit) {
  expectRefused("18446744073709551616",
                "'18446744073709551616' is no size: it is more than 18446744073709551615");
  expectRefused("16777216T", "is more than 18446744073709551615 bytes");
  EXPECT_EQ(bytes("16777215T"), std::size_t{16777215} << 40);
}

} // namespace
} // namespace rdmagpu::cli
