#pragma once

#include <cstdint>
#include <span>

namespace rdmagpu {

/// What RdmaGpuBufferConfig::vulkanCtx points to. A larger struct that starts so will do, too; no more of it
/// is read, and that only in make() and maxSlots().
///
/// The caller guarantees that all three were made through the system's Vulkan loader, the instance for Vulkan
/// 1.1 or later, and that instance and device live until the buffer, and all that was taken from it (exports,
/// registrations, keep-alives), is gone. The library destroys neither. It makes buffers and memory on the
/// device, and uses no queue of it but VulkanOptions::queue.
struct VulkanContext {
  void* instance{};       ///< A VkInstance.
  void* physicalDevice{}; ///< A VkPhysicalDevice of it.
  void* device{};         ///< A VkDevice of that.
};

/// Options of Vulkan, VulkanDmaBuf and alsoVulkan; of the last, whose copies are CUDA's, `queue` is not read.
struct VulkanOptions {
  /// The extensions that were enabled on the caller's device, as in VkDeviceCreateInfo; nobody but its maker
  /// knows them. Vulkan needs VK_NV_external_memory_rdma; VulkanDmaBuf needs VK_KHR_external_memory_fd and
  /// VK_EXT_external_memory_dma_buf; alsoVulkan needs the first of these two. Read in make() and maxSlots()
  /// only.
  std::span<const char* const> enabledExtensions{};
  /// Whether VkPhysicalDeviceExternalMemoryRDMAFeaturesNV::externalMemoryRDMA was enabled on it, which Vulkan
  /// needs.
  bool externalMemoryRdma{};
  /// A VkQueue of the caller's device, of a family that copies, for upload(), download(), checksum(),
  /// poison(), clear(), zeroFill and scrubOnDestroy. Lent until the buffer and all that was taken from it is
  /// gone; while such a call runs, or the last of them goes, nobody else may use it, another buffer's calls
  /// included. Null: VulkanDmaBuf copies on a device of the library's own, into which it imports the memory;
  /// Vulkan, whose memory no other device can import, does not copy, and those calls are refused.
  void* queue{};
  std::uint32_t queueFamily{}; ///< The queue's.
  /// VkBufferUsageFlags of the slots; those of transfers are added. 0: transfers, storage buffers, and texel
  /// buffers of both kinds. What a usage needs to be enabled is the caller's to enable. No device addresses.
  std::uint32_t usage{};
};

/// A slot as Vulkan knows it; interop/vulkan.hpp has it in Vulkan's own types.
struct VulkanBuffer {
  void* device{};             ///< The VkDevice: the caller's, or the library's own.
  void* buffer{};             ///< A VkBuffer, whose bytes from `offset` on are the slot's.
  void* memory{};             ///< The VkDeviceMemory; the buffer is bound to its start.
  std::uint64_t offset{};     ///< Into the buffer, and so into the memory.
  std::uint64_t size{};       ///< The slot's.
  std::uint32_t memoryType{}; ///< An index into VkPhysicalDeviceMemoryProperties::memoryTypes.
};

} // namespace rdmagpu
