#pragma once
#include <backend/vulkan_copier.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <memory>

namespace rdmagpu::backend::vulkan {

/// Where slots lie, and what copies them.
struct SlotDevice {
  LogicalDevicePtr device;
  std::shared_ptr<const Copier> copier{}; ///< Null: nothing does.
  VkBufferUsageFlags usage{};
  VkExternalMemoryFeatureFlags features{}; ///< Of buffers of that usage, for that kind of slots.
};

/// Opens what the config asks for: the caller's device, or one of the library's own.
Result<SlotDevice> openSlotDevice(SlotKind, const RdmaGpuBufferConfig&);

/// What can be had here. Creates no device.
BackendInfo probe(RdmaGpuApi, SlotKind);

} // namespace rdmagpu::backend::vulkan
