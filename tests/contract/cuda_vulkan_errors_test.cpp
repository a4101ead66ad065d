#include <contract/cuda_vulkan.hpp>
#include <contract/vulkan_standin.hpp>

#include <string>

/// What is refused of slots that are CUDA's and Vulkan's, on the stand-ins of both.
namespace rdmagpu::test {
namespace {

class CudaVulkanErrors : public OnVulkan {
protected:
  static Error refusal(const RdmaGpuBufferConfig& config) {
    const auto buffer = RdmaGpuBuffer::make(config);
    EXPECT_FALSE(buffer);
    if(buffer)
      return {};
    EXPECT_FALSE(buffer.error().hints().empty()) << buffer.error().message();
    return buffer.error();
  }
  void TearDown() override {
    cuda->profile("");
    OnVulkan::TearDown();
    EXPECT_EQ(cuda->ledger(), "");
  }

  CudaStandin* cuda = CudaStandin::find();
};

TEST_F(CudaVulkanErrors, GpuThatVulkanDoesNotHaveIsNamedByItsUuid) {
  standin.mode("other-gpu");
  const Error error = refusal(alsoVulkanConfig());
  EXPECT_STREQ(error.codeName, "VulkanLacksGpu");
  EXPECT_EQ(error.kind, Errc::NotFound);
  ASSERT_TRUE(error.uuid);
  EXPECT_EQ(error.uuid->front(), std::byte{0xA0});
  EXPECT_EQ(error.device, 0);
}

TEST_F(CudaVulkanErrors, CallersDeviceOfAnotherGpuIsRefused) {
  const VulkanUser user;
  standin.mode("other-gpu");
  EXPECT_STREQ(refusal(user.config()).codeName, "VulkanOtherGpu");
}

TEST_F(CudaVulkanErrors, CallersDeviceMustTakeDescriptors) {
  const VulkanUser user;
  auto config = user.config();
  config.vulkan.enabledExtensions = {};
  const Error error = refusal(config);
  EXPECT_STREQ(error.codeName, "VulkanMemoryFdNotEnabled");
  EXPECT_NE(error.message().find("VK_KHR_external_memory_fd"), std::string::npos);
}

TEST_F(CudaVulkanErrors, CallersContextMustBeWhole) {
  const VulkanUser user;
  auto config = user.config();
  VulkanContext context = user.context;
  config.vulkanCtx = &context;
  context.device = nullptr;
  EXPECT_STREQ(refusal(config).codeName, "VulkanContextIncomplete");
  context = user.context;
  context.physicalDevice = &context;
  EXPECT_STREQ(refusal(config).codeName, "VulkanForeignPhysicalDevice");
}

TEST_F(CudaVulkanErrors, DriverThatTakesNoDescriptorsIsRefused) {
  standin.mode("no-memory-fd");
  EXPECT_STREQ(refusal(alsoVulkanConfig()).codeName, "VulkanTakesNoFds");
  standin.mode("no-fd-import");
  EXPECT_STREQ(refusal(alsoVulkanConfig()).codeName, "VulkanUsageNotImported");
  standin.mode("vulkan-1.0");
  EXPECT_STREQ(refusal(alsoVulkanConfig()).codeName, "VulkanLacksGpu") << "it tells no UUID";
}

TEST_F(CudaVulkanErrors, BufferThatNeedsMoreThanWasAllocatedIsRefused) {
  standin.mode("greedy-buffers");
  const Error error = refusal(alsoVulkanConfig());
  EXPECT_STREQ(error.codeName, "VulkanNeedsMore");
  EXPECT_GT(error.bytes, error.available);
}

TEST_F(CudaVulkanErrors, MemoryThatCannotBeImportedIsRefused) {
  auto config = alsoVulkanConfig();
  config.cudaMemory = CudaMemory::MemAlloc;
  EXPECT_STREQ(refusal(config).codeName, "VulkanNeedsVmm");
  cuda->profile("no-posix-fd");
  EXPECT_STREQ(refusal(alsoVulkanConfig()).codeName, "VulkanNeedsSharing");
  cuda->profile("no-vmm");
  EXPECT_STREQ(refusal(alsoVulkanConfig()).codeName, "VmmAbsent");
}

TEST_F(CudaVulkanErrors, VulkansMemoryIsNotTakenIntoCuda) {
  auto config = alsoVulkanConfig();
  config.api = RdmaGpuApi::Vulkan;
  const Error error = refusal(config);
  EXPECT_STREQ(error.codeName, "VulkanIntoCuda");
  EXPECT_EQ(error.kind, Errc::Unsupported);
  config.api = RdmaGpuApi::HostFallback;
  EXPECT_STREQ(refusal(config).codeName, "AlsoVulkanIsCudas");
}

TEST_F(CudaVulkanErrors, AutoTakesNothingButCuda) {
  auto config = alsoVulkanConfig();
  config.api = RdmaGpuApi::Auto;
  {
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->backend(), RdmaGpuApi::Cuda);
    EXPECT_TRUE(buffer->vulkanBuffer(0));
  }
  standin.mode("other-gpu");
  EXPECT_FALSE(RdmaGpuBuffer::make(config)) << "host memory is no buffer of Vulkan's";
}

} // namespace
} // namespace rdmagpu::test
