#include <contract/cuda_driver.hpp>
#include <rdmagpu/copy_queue.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <thread>

namespace rdmagpu::test {
namespace {

/// A child that runs the parent's destructors, and tries to use CUDA itself. Each failure is a bit.
int inChild(RdmaGpuBuffer& buffer) {
  int failures = 0;
  std::array<std::byte, 100> bytes{};
  const auto refused = [](const Error& error) { return std::string_view{error.codeName} == "ForkedChild"; };
  failures |= refused(buffer.upload(0, bytes).error()) ? 0 : 1;
  failures |= refused(buffer.exportSlot(0).error()) ? 0 : 2;
  failures |= refused(RdmaGpuBuffer::make(cudaConfig()).error()) ? 0 : 4;
  failures |= refused(buffer.checksum(0, 100).error()) ? 0 : 8;
  failures |= refused(buffer.poison(0, 1).error()) ? 0 : 16;
  buffer.destroy();
  return failures;
}

TEST(CudaFork, ForkedChildFreesAndScrubsNothingOfItsParents) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    auto config = cudaConfig(memory);
    config.scrubOnDestroy = true;
    auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    std::array<std::byte, 100> sent{};
    sent.fill(std::byte{77});
    ASSERT_TRUE(buffer->upload(0, sent));
    ASSERT_TRUE(buffer->checksum(0, 100)); // so that there are kernels that the child must leave alone
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if(child == 0)
      _exit(inChild(*buffer));
    int status{};
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::array<std::byte, 100> back{};
    ASSERT_TRUE(buffer->download(0, back));
    EXPECT_EQ(back, sent);
  }
}

/// What the child would wait for if it took a lock that a thread of the parent's had.
TEST(CudaFork, ForkedChildWaitsForNoThreadOfItsParent) {
#if defined(__SANITIZE_THREAD__) // which Clang's does not define
  GTEST_SKIP() << "ThreadSanitizer's runtime of GCC 12 forks with one thread only";
#endif
  auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  auto queue = CopyQueue::make(*buffer);
  ASSERT_TRUE(queue) << queue.error().message();
  std::atomic<bool> stop{};
  std::thread copies{[&] {
    std::array<std::byte, 100> bytes{};
    while(!stop) {
      EXPECT_TRUE(queue->upload(0, bytes));
      EXPECT_TRUE(buffer->exportRegion());
    }
  }};
  for(int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if(child == 0) {
      alarm(20);
      const auto refused = [](const Error& error) {
        return std::string_view{error.codeName} == "ForkedChild";
      };
      std::array<std::byte, 100> bytes{};
      int failures = refused(queue->upload(1, bytes).error()) ? 0 : 1;
      failures |= refused(queue->finish().error()) ? 0 : 2;
      failures |= refused(buffer->exportRegion().error()) ? 0 : 4;
      _exit(failures);
    }
    int status{};
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  copies.join();
}

} // namespace
} // namespace rdmagpu::test
