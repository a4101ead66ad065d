#include "verbs_gpu_fixture.hpp"

#include <support/log_capture.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace rdmagpu::nictest {
namespace {

TEST_F(Verbs, RegistrationMayOutliveTheBuffer) {
  auto buffer = std::make_optional(makeBuffer());
  watch(buffer->keepAlive(0));
  VerbsRegistration all = registerOn(*buffer);
  const auto address = all.remoteAddress(1);
  buffer.reset();
  EXPECT_EQ(all.remoteAddress(1), address);
  EXPECT_EQ(live().size(), 1U);
} // the stand-in sees that the pages were there to the end

TEST_F(Verbs, BufferMayOutliveTheRegistration) {
  const RdmaGpuBuffer buffer = makeBuffer();
  watch(buffer.keepAlive(0));
  { const VerbsRegistration all = registerOn(buffer); }
  EXPECT_TRUE(live().empty());
  EXPECT_TRUE(buffer.valid());
}

TEST_F(VerbsGpu, MemoryGoesWithTheLastOfBufferExportsAndRegistrations) {
  for(const int order : {0, 1, 2, 3, 4, 5}) {
    auto buffer = std::make_optional(gpuBuffer());
    watch(buffer->keepAlive(0));
    auto first = std::make_optional(registerOn(*buffer));
    auto second = std::make_optional(registerOn(*buffer, {.slot = 1}, otherDomain()));
    for(int step = 0; step < 3; ++step) {
      const int which = (order % 3 + step * (order < 3 ? 1 : 2)) % 3;
      EXPECT_NE(standin->ledger(), "");
      if(which == 0)
        buffer.reset();
      else if(which == 1)
        first.reset();
      else
        second.reset();
    }
    EXPECT_EQ(standin->ledger(), "");
    EXPECT_THAT(violations(), testing::IsEmpty());
  }
}

TEST_F(Verbs, WhatWasMovedFromLetsNothingGo) {
  const RdmaGpuBuffer buffer = makeBuffer();
  VerbsRegistration all = registerOn(buffer);
  const std::uint32_t key = all.rkey();
  VerbsRegistration other{std::move(all)};
  EXPECT_EQ(other.rkey(), key);
  EXPECT_EQ(live().size(), 1U);
  VerbsRegistration third = registerOn(buffer, {.slot = 0});
  third = std::move(other);
  EXPECT_EQ(third.rkey(), key);
  EXPECT_EQ(live().size(), 1U);
}

TEST_F(Verbs, DeregisterLetsGoAtOnce) {
  const RdmaGpuBuffer buffer = makeBuffer();
  VerbsRegistration all = registerOn(buffer);
  EXPECT_TRUE(all.deregister());
  EXPECT_FALSE(all.valid());
  EXPECT_TRUE(live().empty());
  EXPECT_TRUE(all.deregister());
  EXPECT_EQ(calls("ibv_dereg_mr"), 1);
}

TEST_F(Verbs, DeregistrationThatIsRefusedCanBeTriedAgain) {
  const RdmaGpuBuffer buffer = makeBuffer();
  VerbsRegistration all = registerOn(buffer);
  failNext("ibv_dereg_mr", EBUSY);
  const auto refused = all.deregister();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::Busy);
  EXPECT_STREQ(refused.error().finding, "still-bound");
  EXPECT_TRUE(all.valid());
  EXPECT_NE(all.rkey(), 0U);
  EXPECT_TRUE(all.deregister());
}

/// 0 when the memory was kept and the log told.
int destroyWithAFailure() {
  test::LogCapture log;
  RdmaGpuBuffer buffer = makeBuffer();
  const std::weak_ptr<const void> memory = buffer.keepAlive(0);
  {
    const VerbsRegistration all = registerOn(buffer);
    failNext("ibv_dereg_mr", EBUSY);
  }
  buffer.destroy();
  return (memory.expired() ? 1 : 0) | (log.errors().size() == 1 ? 0 : 2);
}

TEST_F(Verbs, ForkedOrNotMemoryThatTheNicHoldsIsNeverFreed) {
  const pid_t child = fork(); // what is kept would be a leak here
  ASSERT_GE(child, 0);
  if(child == 0)
    _exit(destroyWithAFailure());
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Verbs, ForkedChildEndsNoRegistrationOfItsParents) {
  const RdmaGpuBuffer buffer = makeBuffer();
  auto all = std::make_optional(registerOn(buffer));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    all.reset();
    _exit(calls("ibv_dereg_mr"));
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(calls("ibv_dereg_mr"), 0);
  all.reset();
  EXPECT_EQ(calls("ibv_dereg_mr"), 1);
}

} // namespace
} // namespace rdmagpu::nictest
