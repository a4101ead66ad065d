#pragma once
#include <backend/vulkan_device.hpp>
#include <rdmagpu/interop/vulkan.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <array>

namespace rdmagpu::test {

/// A program that has a device of its own, with what slots need enabled, and lends it.
class VulkanCaller {
public:
  VulkanCaller() {
    auto instance = backend::vulkan::Instance::create();
    EXPECT_TRUE(instance);
    const auto gpus = (*instance)->list();
    EXPECT_TRUE(gpus);
    auto made = backend::vulkan::LogicalDevice::create(*std::move(instance), gpus->front());
    EXPECT_TRUE(made);
    m_device = *std::move(made);
    context =
        interop::vulkanContext(m_device->instance().handle(), m_device->gpu().handle, m_device->handle());
  }

  const backend::vulkan::LogicalDevicePtr& device() const { return m_device; }

  /// Slots on that device, and no queue of it named.
  RdmaGpuBufferConfig config() const {
    return {.api = RdmaGpuApi::Vulkan,
            .slotCount = 3,
            .frameBytes = 100'001,
            .vulkanCtx = &context,
            .vulkan = {.enabledExtensions = extensions, .externalMemoryRdma = true}};
  }
  RdmaGpuBufferConfig withQueue() const {
    RdmaGpuBufferConfig named = config();
    named.vulkan.queue = m_device->queue();
    named.vulkan.queueFamily = m_device->queueFamily();
    return named;
  }

  VulkanContext context;
  std::array<const char*, 1> extensions{VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME};

private:
  backend::vulkan::LogicalDevicePtr m_device;
};

} // namespace rdmagpu::test
