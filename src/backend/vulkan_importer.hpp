#pragma once
#include <os/fd.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/vulkan.hpp>

#include <array>
#include <cstddef>
#include <memory>

/// Another API's memory as a buffer of Vulkan's, for code that knows nothing of Vulkan.
namespace rdmagpu::backend {

/// Keeps the memory, and the device.
class VulkanAlias {
public:
  virtual ~VulkanAlias() = default;
  /// But for the size.
  virtual VulkanBuffer at(std::size_t offset) const noexcept = 0;
};

/// A device of Vulkan's.
class VulkanImporter {
public:
  virtual ~VulkanImporter() = default;
  /// The first `bytes` of memory whose driver gave that descriptor of all of it, which is `allocated` bytes.
  virtual Result<std::unique_ptr<const VulkanAlias>> import(os::Fd, std::size_t bytes,
                                                            std::size_t allocated) const = 0;
};

/// The one of the GPU that has this UUID.
Result<std::shared_ptr<const VulkanImporter>> openVulkanImporter(const RdmaGpuBufferConfig&,
                                                                 const std::array<std::byte, 16>& uuid);

} // namespace rdmagpu::backend
