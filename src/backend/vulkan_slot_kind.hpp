#pragma once
#include <backend/vulkan_driver.hpp>
#include <rdmagpu/vulkan.hpp>

#include <cstdint>
#include <vector>

namespace rdmagpu::backend::vulkan {

struct Gpu;

/// How peers reach the memory of slots, or how it comes to Vulkan.
enum class SlotKind : std::uint8_t {
  RemoteAddress, ///< VK_NV_external_memory_rdma.
  DmaBuf,        ///< VK_EXT_external_memory_dma_buf.
  Import,        ///< CUDA's, by VK_KHR_external_memory_fd.
};

VkExternalMemoryHandleTypeFlagBits handleTypeOf(SlotKind) noexcept;

/// The extensions that a device must have enabled.
std::vector<const char*> extensionsFor(SlotKind);

/// Why slots of that kind cannot lie on that GPU.
Result<void> checkGpu(SlotKind, const Gpu&) noexcept;

/// Why they cannot lie on the caller's device. Nobody but the caller knows what is enabled on it: it is what
/// the options say.
Result<void> checkEnabled(SlotKind, const VulkanOptions&) noexcept;

} // namespace rdmagpu::backend::vulkan
