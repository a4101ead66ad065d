#include <os/files.hpp>
#include <support/log_capture.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rdmagpu::os {
namespace {

TEST(Files, ReadsAWholeFile) {
  const test::TempTree tree;
  const std::string long_text(10'000, 'x');
  tree.write("/a", long_text);
  tree.write("/empty", "");
  EXPECT_EQ(*readFile(tree.root() + "/a"), long_text);
  EXPECT_EQ(*readFile(tree.root() + "/empty"), "");
}

TEST(Files, CutsWhatIsEndless) {
  const auto text = readFile("/dev/zero");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 1U << 20);
}

TEST(Files, MissingFileIsAnErrorOrNothing) {
  const test::LogCapture log;
  const test::TempTree tree;
  const auto missing = readFile(tree.root() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_STREQ(missing.error().codeName, "ENOENT");
  EXPECT_EQ(readIfThere(tree.root() + "/none"), std::nullopt);
  tree.write("/file", "x");
  EXPECT_EQ(readIfThere(tree.root() + "/file/below"), std::nullopt);
  EXPECT_TRUE(log.errors().empty());
}

TEST(Files, OtherFailureIsLogged) {
  const test::LogCapture log;
  const test::TempTree tree;
  EXPECT_EQ(readIfThere(tree.root()), std::nullopt); // a folder
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "read");
}

TEST(Files, NumbersAreFoundAfterTheirKey) {
  EXPECT_EQ(numberAfter("MemFree: 1 kB\nMemAvailable:   123 kB\n", "MemAvailable:"), 123U);
  EXPECT_EQ(numberAfter("64\n", ""), 64U);
  EXPECT_EQ(numberAfter("max\n", ""), std::nullopt);
  EXPECT_EQ(numberAfter("", ""), std::nullopt);
  EXPECT_EQ(numberAfter("Key:", "Key:"), std::nullopt);
  EXPECT_EQ(numberAfter("Key: 5", "Other:"), std::nullopt);
  EXPECT_EQ(numberAfter("99999999999999999999", ""), std::nullopt);
}

} // namespace
} // namespace rdmagpu::os
