#include <backend/vulkan_importer.hpp>
#include <base/library_error.hpp>

namespace rdmagpu::backend {

Result<std::shared_ptr<const VulkanImporter>> openVulkanImporter(const RdmaGpuBufferConfig&,
                                                                 const std::array<std::byte, 16>&) {
  return libraryError("RdmaGpuBuffer::make", LibraryCode::VulkanNotBuilt);
}

} // namespace rdmagpu::backend
