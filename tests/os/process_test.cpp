#include <os/process.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace rdmagpu::os {
namespace {

TEST(Process, KeepsItsNumber) {
  const auto first = identifyProcess();
  ASSERT_TRUE(first);
  EXPECT_NE(*first, 0U);
  EXPECT_EQ(*identifyProcess(), *first);
  EXPECT_EQ(currentProcess(), *first);
}

TEST(Process, ForkedChildHasAnother) {
  const auto mine = identifyProcess();
  ASSERT_TRUE(mine);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const std::uint64_t its = currentProcess();
    const bool steady = its == currentProcess();
    _exit(its != *mine && its != 0 && steady ? 0 : 1);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(currentProcess(), *mine);
}

} // namespace
} // namespace rdmagpu::os
