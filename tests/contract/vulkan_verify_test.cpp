// verify() without a peer of the caller's, and copies, of slots of VulkanDmaBuf, which no CPU can address.
#include <contract/vulkan_standin.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/verify.hpp>

#include <array>
#include <cstddef>

namespace rdmagpu::test {
namespace {

using VulkanVerify = OnVulkan;

TEST_F(VulkanVerify, BothDirectionsAreProvenByTheGpusCopies) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(const std::size_t bytes : {std::size_t{0}, std::size_t{1001}}) {
    const auto report = verify(*buffer, {.bytes = bytes});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->write, Answer::Yes);
    EXPECT_EQ(report->read, Answer::Yes);
    EXPECT_TRUE(report->failures.empty());
    EXPECT_EQ(report->proof.by, Agent::CopyEngine) << "no device";
  }
}

TEST_F(VulkanVerify, CopyThatFailsIsTold) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  standin.failNamed("vkBeginCommandBuffer", VK_ERROR_OUT_OF_HOST_MEMORY);
  const auto report = verify(*buffer);
  standin.failNamed("", VK_SUCCESS);
  ASSERT_FALSE(report);
  EXPECT_STREQ(report.error().call, "vkBeginCommandBuffer");
}

TEST_F(VulkanVerify, CopiesAreDoneWhenTheirCallReturns) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  auto queue = CopyQueue::make(*buffer);
  ASSERT_TRUE(queue) << queue.error().message();
  std::array<std::byte, 100> sent{};
  sent.fill(std::byte{7});
  auto up = queue->upload(1, sent);
  ASSERT_TRUE(up) << up.error().message();
  std::array<std::byte, 100> back{};
  ASSERT_TRUE(buffer->download(1, back));
  EXPECT_EQ(back, sent);
}

TEST_F(VulkanVerify, StreamOfCudasIsRefused) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  int stream{};
  const auto refused = CopyQueue::make(*buffer, {.stream = CudaStream{&stream}});
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "StreamOfOtherGpu");
}

} // namespace
} // namespace rdmagpu::test
