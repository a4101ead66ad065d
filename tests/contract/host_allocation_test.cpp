#include <contract/allocation_faults.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace rdmagpu::test {
namespace {

// Large enough to be populated by more than one thread where there is more than one CPU.
RdmaGpuBufferConfig config(RdmaGpuApi api) { return {.api = api, .slotCount = 4, .frameBytes = 5U << 20U}; }

TEST(HostAllocation, MakeSurvivesEachFailure) {
  everyAllocationFailsOnce([] { return RdmaGpuBuffer::make(config(RdmaGpuApi::HostFallback)); });
}

TEST(HostAllocation, AutoSurvivesEachFailure) {
  everyAllocationFailsOnce([] { return RdmaGpuBuffer::make(config(RdmaGpuApi::Auto)); });
}

TEST(HostAllocation, MaxSlotsSurvivesEachFailure) {
  everyAllocationFailsOnce([] { return RdmaGpuBuffer::maxSlots(config(RdmaGpuApi::HostFallback)); });
}

TEST(HostAllocation, InspectSurvivesEachFailure) {
  const std::vector<char> memory(10'000);
  everyAllocationFailsOnce([&] { return inspect(memory.data(), memory.size()); });
}

TEST(HostAllocation, TokenSurvivesEachFailure) {
  const auto buffer = RdmaGpuBuffer::make(config(RdmaGpuApi::HostFallback));
  ASSERT_TRUE(buffer);
  const auto shared = buffer->share();
  ASSERT_TRUE(shared);
  everyAllocationFailsOnce([&] { return shared->token(); });
}

TEST(HostAllocation, CopyQueueSurvivesEachFailure) {
  const auto buffer = RdmaGpuBuffer::make(config(RdmaGpuApi::HostFallback));
  ASSERT_TRUE(buffer);
  everyAllocationFailsOnce([&] { return CopyQueue::make(*buffer); });
}

TEST(HostAllocation, CopiesAllocateNothing) {
  const auto buffer = RdmaGpuBuffer::make(config(RdmaGpuApi::HostFallback));
  ASSERT_TRUE(buffer);
  auto queue = CopyQueue::make(*buffer, {.depth = 2});
  ASSERT_TRUE(queue);
  std::byte byte{};
  failAllocation(1);
  for(std::size_t i = 0; i < 100; ++i) {
    const auto up = queue->upload(i % 4, {&byte, 1});
    const auto down = queue->download(i % 4, {&byte, 1});
    ASSERT_TRUE(up && up->wait() && down && down->done());
    const RingCompletion completion = down->completion();
    ASSERT_TRUE(completion.done(completion.context));
  }
  EXPECT_TRUE(queue->finish());
  EXPECT_FALSE(allocationFailed()) << "there was one";
  failAllocation(0);
}

} // namespace
} // namespace rdmagpu::test
