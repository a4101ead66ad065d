#include <backend/vulkan_device.hpp>
#include <contract/vulkan_standin.hpp>

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

/// Whether Khronos' validation is really above the project's layer, and sees what the library does: what it
/// would say of the driver's own memory is not what it says of the layer's.
namespace rdmagpu::test {
namespace {

using backend::vulkan::Instance;
using backend::vulkan::LogicalDevice;
using backend::vulkan::LogicalDevicePtr;
using backend::vulkan::OwnedMemory;
using backend::vulkan::SlotKind;

class VulkanValidation : public OnVulkan {
protected:
  static LogicalDevicePtr openDevice() {
    auto instance = Instance::create();
    EXPECT_TRUE(instance);
    const auto gpus = (*instance)->list();
    EXPECT_TRUE(gpus);
    auto device = LogicalDevice::create(SlotKind::RemoteAddress, *std::move(instance), gpus->front());
    EXPECT_TRUE(device);
    return *std::move(device);
  }
  /// As the library does it for a slot.
  static Result<OwnedMemory> allocateReachable(const LogicalDevice& device, VkBuffer buffer) {
    VkExportMemoryAllocateInfo exported{};
    exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
    exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
    const std::uint32_t types = backend::vulkan::rdmaTypes(device.gpu().memory);
    return allocateFor(device, buffer, requirementsOf(device, buffer),
                       static_cast<std::uint32_t>(std::countr_zero(types)), &exported);
  }
  void TearDown() override {
    OnVulkan::TearDown();
    takeValidation();
  }
};

TEST_F(VulkanValidation, RightUseIsSilent) {
  {
    auto config = vulkanConfig();
    config.zeroFill = config.scrubOnDestroy = true;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer);
    std::vector<std::byte> bytes(1000);
    ASSERT_TRUE(buffer->upload(1, bytes, 3));
    ASSERT_TRUE(buffer->download(1, bytes, 5));
    ASSERT_TRUE(buffer->poison(1, 1));
    ASSERT_TRUE(buffer->checksum(1, 999, 1));
  }
  EXPECT_EQ(takeValidation(), "");
}

/// The layer takes this memory from the driver's host-visible type: only above the layer is mapping it wrong.
TEST_F(VulkanValidation, MappingWhatOnlyPeersReachIsReported) {
  const LogicalDevicePtr device = openDevice();
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
  const auto buffer = backend::vulkan::createBuffer(*device, 65536, backend::vulkan::slotUsage, &external);
  ASSERT_TRUE(buffer);
  const auto memory = allocateReachable(*device, buffer->get());
  ASSERT_TRUE(memory);
  EXPECT_EQ(takeValidation(), "");
  void* mapped{};
  static_cast<void>(
      device->functions().mapMemory(device->handle(), memory->get(), 0, VK_WHOLE_SIZE, 0, &mapped));
  EXPECT_NE(takeValidation().find("VUID-vkMapMemory-memory-00682"), std::string::npos);
}

/// The layer hides from the driver that the memory has a handle type: below the layer this would be right.
TEST_F(VulkanValidation, BufferWithoutTheHandleTypeOfItsMemoryIsReported) {
  const LogicalDevicePtr device = openDevice();
  const auto buffer = backend::vulkan::createBuffer(*device, 65536, backend::vulkan::slotUsage, nullptr);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(allocateReachable(*device, buffer->get()));
  EXPECT_NE(takeValidation().find("VUID-vkBindBufferMemory-memory-02726"), std::string::npos);
}

} // namespace
} // namespace rdmagpu::test
