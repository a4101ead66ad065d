#pragma once
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/vulkan.hpp>

#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <optional>

/// Vulkan's own types for what this library calls by its own, for code that has vulkan.h. Header only; calls
/// no driver.
namespace rdmagpu::interop {

static_assert(sizeof(VkBuffer) == sizeof(void*) && sizeof(VkDeviceSize) == sizeof(std::uint64_t),
              "vulkan.h for 64-bit systems");

/// For RdmaGpuBufferConfig::vulkanCtx, which is read in make() only.
inline VulkanContext vulkanContext(VkInstance instance, VkPhysicalDevice physicalDevice,
                                   VkDevice device) noexcept {
  return {instance, physicalDevice, device};
}

/// A slot; valid for as long as the slot.
struct VulkanSlot {
  VkDevice device{};       ///< The caller's, or the library's own.
  VkBuffer buffer{};       ///< Its bytes from `offset` on are the slot's.
  VkDeviceMemory memory{}; ///< The buffer is bound to its start.
  VkDeviceSize offset{};   ///< Into the buffer, and so into the memory.
  VkDeviceSize size{};
  std::uint32_t memoryType{}; ///< An index into VkPhysicalDeviceMemoryProperties::memoryTypes.
};

/// nullopt for slots that are no buffers of Vulkan's, and for one that is out of range.
inline std::optional<VulkanSlot> vulkanSlot(const RdmaGpuBuffer& buffer, std::size_t slot) noexcept {
  const auto found = buffer.vulkanBuffer(slot);
  if(!found)
    return std::nullopt;
  return VulkanSlot{static_cast<VkDevice>(found->device),
                    static_cast<VkBuffer>(found->buffer),
                    static_cast<VkDeviceMemory>(found->memory),
                    found->offset,
                    found->size,
                    found->memoryType};
}
std::optional<VulkanSlot> vulkanSlot(const RdmaGpuBuffer&& buffer, std::size_t slot) = delete;

} // namespace rdmagpu::interop
