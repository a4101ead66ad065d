// Windows' own codes.
#include <os/error.hpp>
#include <rdmagpu/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmagpu {
namespace {

using testing::HasSubstr;

TEST(Error, SystemMessageNamesTheCallAndTheCode) {
  const Error e = os::error("VirtualLock", 1453, 33177600, 8388608);
  EXPECT_THAT(e.message(), HasSubstr("VirtualLock failed: ERROR_WORKING_SET_QUOTA (1453"));
  EXPECT_THAT(e.message(), HasSubstr("asked 33177600, available 8388608"));
  EXPECT_EQ(e.kind, Errc::OutOfMemory);
  EXPECT_STREQ(e.finding, "memlock-limit");
  EXPECT_FALSE(e.hints().empty());
}

} // namespace
} // namespace rdmagpu
