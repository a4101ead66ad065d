#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace rdmagpu {
namespace {

constexpr rlim_t limitBytes = 256 * 1024;

/// Runs `check` in a child that may lock 256 KiB and has no privilege; true if it returned true.
bool withoutPrivilege(const std::function<bool()>& check) {
  const pid_t child = fork();
  if(child == 0) {
    const rlimit limit{limitBytes, limitBytes};
    const bool dropped = setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (geteuid() != 0 || setuid(65534) == 0);
    _exit(dropped && check() ? 0 : 1);
  }
  int status{};
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

RdmaGpuBufferConfig config(std::size_t bytes, PageLock lock) {
  return {.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = bytes, .host = {.lock = lock}};
}

class LockLimit : public testing::Test {
protected:
  void SetUp() override {
    if(test::sanitized)
      GTEST_SKIP() << "under a sanitizer mlock does nothing and says that it did";
  }
};

TEST_F(LockLimit, RequiredLockBeyondItIsRefusedWithBothFigures) {
  EXPECT_TRUE(withoutPrivilege([] {
    const auto refused = RdmaGpuBuffer::make(config(1 << 20, PageLock::Require));
    if(refused)
      return false;
    const Error& e = refused.error();
    return e.call == std::string{"mlock"} && e.codeName == std::string{"ENOMEM"} && e.bytes == 1 << 20 &&
           e.available == limitBytes && !e.hints().empty();
  }));
}

TEST_F(LockLimit, TriedLockBeyondItLeavesUsableSlots) {
  EXPECT_TRUE(withoutPrivilege([] {
    const auto buffer = RdmaGpuBuffer::make(config(1 << 20, PageLock::Try));
    return buffer && buffer->facts().lockedBytes == 0 && buffer->facts().residentBytes == 1 << 20 &&
           buffer->facts().lockError.available == limitBytes;
  }));
}

TEST_F(LockLimit, LockWithinItIsDone) {
  EXPECT_TRUE(withoutPrivilege([] {
    const auto buffer = RdmaGpuBuffer::make(config(65536, PageLock::Require));
    return buffer && buffer->facts().lockedBytes == 65536;
  }));
}

} // namespace
} // namespace rdmagpu
