#pragma once
#include <backend/vulkan_device.hpp>
#include <rdmagpu/interop/vulkan.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace rdmagpu::test {

/// A program that has a device of its own, with what slots need enabled, and lends it.
class VulkanCaller {
public:
  using Kind = backend::vulkan::SlotKind;

  explicit VulkanCaller(Kind kind = Kind::RemoteAddress)
      : extensions(backend::vulkan::extensionsFor(kind)), m_kind(kind) {
    auto instance = backend::vulkan::Instance::create();
    EXPECT_TRUE(instance);
    const auto gpus = (*instance)->list();
    EXPECT_TRUE(gpus);
    auto made = backend::vulkan::LogicalDevice::create(kind, *std::move(instance), gpus->front());
    EXPECT_TRUE(made);
    m_device = *std::move(made);
    context =
        interop::vulkanContext(m_device->instance().handle(), m_device->gpu().handle, m_device->handle());
  }

  const backend::vulkan::LogicalDevicePtr& device() const { return m_device; }

  /// Slots on that device, and no queue of it named.
  RdmaGpuBufferConfig config() const {
    return {.api = m_kind == Kind::DmaBuf ? RdmaGpuApi::VulkanDmaBuf : RdmaGpuApi::Vulkan,
            .slotCount = 3,
            .frameBytes = 100'001,
            .vulkanCtx = &context,
            .vulkan = {.enabledExtensions = extensions, .externalMemoryRdma = m_kind == Kind::RemoteAddress}};
  }
  RdmaGpuBufferConfig withQueue() const {
    RdmaGpuBufferConfig named = config();
    named.vulkan.queue = m_device->queue();
    named.vulkan.queueFamily = m_device->queueFamily();
    return named;
  }

  VulkanContext context;
  std::vector<const char*> extensions;

private:
  Kind m_kind;
  backend::vulkan::LogicalDevicePtr m_device;
};

} // namespace rdmagpu::test
