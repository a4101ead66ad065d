#include <base/log.hpp>
#include <os/error.hpp>
#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <cerrno>

namespace rdmagpu {
namespace {

TEST(Log, IsSilentByDefault) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log(LogLevel::Failure, "nobody hears this");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Log, ReachesTheSinkWithItsError) {
  const test::LogCapture capture;
  log(LogLevel::Failure, "could not close", os::error("close", EIO));
  ASSERT_EQ(capture.texts().size(), 1U);
  EXPECT_EQ(capture.texts().front(), "could not close");
  ASSERT_EQ(capture.errors().size(), 1U);
  EXPECT_STREQ(capture.errors().front().call, "close");
}

TEST(Log, GoesSilentAgain) {
  { const test::LogCapture capture; }
  log(LogLevel::Info, "after"); // would touch a dead capture
  const test::LogCapture capture;
  log(LogLevel::Info, "without an error");
  EXPECT_EQ(capture.texts().size(), 1U);
  EXPECT_TRUE(capture.errors().empty());
}

} // namespace
} // namespace rdmagpu
