// What Linux has to say of a buffer: /proc, limits of the process, forked children.
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace rdmagpu {
namespace {

const RdmaGpuBufferConfig host{.api = RdmaGpuApi::HostFallback, .slotCount = 2, .frameBytes = 5000};

TEST(RdmaGpuBuffer, APeerThatThisMachineDoesNotHaveIsRefusedByItsAddress) {
  if(access("/sys/bus/pci/devices", F_OK) != 0)
    GTEST_SKIP() << "the kernel lists no PCI devices here";
  for(const auto api : {RdmaGpuApi::HostFallback, RdmaGpuApi::Auto}) {
    RdmaGpuBufferConfig config = host;
    config.api = api;
    config.peer = PciAddress::parse("fffe:fe:1e.7");
    const auto refused = RdmaGpuBuffer::make(config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Errc::NotFound);
    EXPECT_STREQ(refused.error().codeName, "PeerNotFound");
    EXPECT_EQ(refused.error().pci, config.peer);
    EXPECT_NE(refused.error().message().find("; PCI device fffe:fe:1e.7"), std::string::npos);
    EXPECT_FALSE(refused.error().hints().empty());
  }
}

TEST(RdmaGpuBuffer, LockedMeansWhatTheKernelSays) {
  if(test::sanitized)
    GTEST_SKIP() << "under a sanitizer mlock does nothing and says that it did";
  const auto locked = [] {
    std::FILE* status = std::fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kilobytes = 0;
    while(std::fgets(line, sizeof line, status))
      std::sscanf(line, "VmLck: %lu", &kilobytes);
    std::fclose(status);
    return kilobytes * 1024;
  };
  const auto before = locked();
  const auto buffer = RdmaGpuBuffer::make(host);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(locked() - before, buffer->facts().lockedBytes);
}

TEST(RdmaGpuBuffer, NothingGrowsWithTheSlotCount) {
  if(test::sanitized)
    GTEST_SKIP() << "a sanitizer maps memory of its own for each mapping";
  const auto mappings = [] {
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    int lines = 0;
    for(int c = std::fgetc(maps); c != EOF; c = std::fgetc(maps))
      lines += c == '\n';
    std::fclose(maps);
    return lines;
  };
  RdmaGpuBufferConfig config{.api = RdmaGpuApi::HostFallback, .slotCount = 2000, .frameBytes = 1};
  ASSERT_TRUE(RdmaGpuBuffer::make(config)); // the threads that populate leave stacks to be used again
  const int before = mappings();
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  EXPECT_LE(mappings() - before, 4);
  EXPECT_EQ(buffer->facts().regionCount, 1U);
  EXPECT_EQ(buffer->slotOffset(1999), 1999U * 65536);
}

/// A child that inherits the buffer, uses it and runs its destructor, as one that forgot to exec would.
void inForkedChild(RdmaGpuBuffer& buffer, int expected) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const int seen = *static_cast<unsigned char*>(buffer.slot(1).gpuVA);
    buffer.destroy();
    RdmaGpuBuffer own;
    const bool works = own.create(host) && own.slot(0).gpuVA;
    own.destroy();
    _exit(seen == expected && works ? 0 : 1);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RdmaGpuBuffer, ForkedChildFreesAndScrubsNothingOfItsParents) {
  RdmaGpuBufferConfig config = host;
  config.scrubOnDestroy = true;
  for(const bool anonymous : {false, true}) {
    config.host.forbidMemfd = anonymous;
    auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer);
    std::memset(buffer->slot(1).gpuVA, 77, 5000);
    inForkedChild(*buffer, 77);
    EXPECT_EQ(*static_cast<unsigned char*>(buffer->slot(1).gpuVA), 77) << "the child wiped the parent's slot";
    // After the fork a write of this process is still a write to the page that a peer has pinned.
    std::memset(buffer->slot(1).gpuVA, 78, 5000);
    inForkedChild(*buffer, 78);
  }
}

TEST(RdmaGpuBuffer, ScrubOverwritesBeforeTheMemoryIsGivenBack) {
  RdmaGpuBufferConfig config = host;
  config.scrubOnDestroy = true;
  auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  auto shared = buffer->share();
  ASSERT_TRUE(shared);
  std::memset(buffer->slot(1).gpuVA, 0x5a, buffer->slot(1).size);
  buffer->destroy();
  std::string left(131072, 'x');
  ASSERT_EQ(pread(shared->fd(), left.data(), left.size(), 0), 131072);
  EXPECT_EQ(left, std::string(131072, '\0'));
}

/// Runs `check` in a child process; true if it returned true.
bool inChild(bool (*check)()) {
  const pid_t child = fork();
  if(child == 0)
    _exit(check() ? 0 : 1);
  int status{};
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(RdmaGpuBuffer, SlotsAreOutOfReachOfTheStandardDescriptors) {
  EXPECT_TRUE(inChild([] {
    for(int fd = 0; fd <= 2; ++fd)
      close(fd);
    const auto buffer = RdmaGpuBuffer::make(host);
    const auto shared = buffer ? buffer->share() : Result<SharedBuffer>{Error{}};
    return buffer && shared && shared->fd() > 2 && write(1, "printed", 7) == -1 && errno == EBADF;
  }));
}

TEST(RdmaGpuBuffer, LimitOnFileSizesLeavesAnonymousSlots) {
  EXPECT_TRUE(inChild([] {
    const rlimit limit{65536, 65536};
    if(setrlimit(RLIMIT_FSIZE, &limit) != 0)
      return false;
    const auto buffer = RdmaGpuBuffer::make(host); // and no SIGXFSZ
    return buffer && !buffer->facts().memfd && buffer->facts().tolerated.size() == 1 &&
           buffer->facts().tolerated.front().codeName == std::string{"EFBIG"};
  }));
}

} // namespace
} // namespace rdmagpu
