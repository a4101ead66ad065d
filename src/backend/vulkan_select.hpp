#pragma once
#include <backend/vulkan_copier.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <memory>

namespace rdmagpu::backend::vulkan {

/// Where slots lie, and what copies them.
struct SlotDevice {
  LogicalDevicePtr device;
  std::shared_ptr<const Copier> copier{}; ///< Null: nothing does.
  VkBufferUsageFlags usage{};
};

/// Opens what the config asks for: the caller's device, or one of the library's own.
Result<SlotDevice> openSlotDevice(const RdmaGpuBufferConfig&);

} // namespace rdmagpu::backend::vulkan
