// Linux' own codes.
#include <os/error.hpp>
#include <rdmagpu/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace rdmagpu {
namespace {

using testing::HasSubstr;

TEST(Error, SystemMessageNamesTheCallAndTheCode) {
  const Error e = os::error("mlock", ENOMEM, 33177600, 8388608);
  EXPECT_THAT(e.message(), HasSubstr("mlock failed: ENOMEM (12, "));
  EXPECT_THAT(e.message(), HasSubstr("asked 33177600, available 8388608"));
  EXPECT_EQ(e.kind, Errc::OutOfMemory);
  EXPECT_STREQ(e.finding, "memlock-limit");
}

TEST(Error, KernelsOwnCodeHasAName) {
  const Error e = os::error(Origin::Verbs, "ibv_reg_dmabuf_mr", 524);
  EXPECT_EQ(e.kind, Errc::Unsupported);
  EXPECT_EQ(e.origin, Origin::Verbs);
  EXPECT_THAT(e.message(), HasSubstr("ibv_reg_dmabuf_mr failed: ENOTSUPP (524, "));
  EXPECT_FALSE(e.hints().empty());
}

TEST(Hints, SpecialRowWinsOverTheGeneralOne) {
  const auto special = os::error("memfd_create", EMFILE).hints();
  const auto general = os::error("fcntl", EMFILE).hints();
  ASSERT_FALSE(special.empty());
  ASSERT_FALSE(general.empty());
  EXPECT_GT(special.size(), general.size());
}

} // namespace
} // namespace rdmagpu
