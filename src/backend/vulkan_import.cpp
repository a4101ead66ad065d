#include <backend/vulkan_importer.hpp>
#include <backend/vulkan_match.hpp>
#include <base/library_error.hpp>

#include <bit>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";
constexpr VkExternalMemoryHandleTypeFlagBits opaqueFd = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

/// The GPU's own memory, where that is offered. Measured: what CUDA made is taken by every type.
std::uint32_t chooseType(const VkPhysicalDeviceMemoryProperties& memory, std::uint32_t possible) noexcept {
  for(std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if((possible >> i & 1U) != 0 &&
       (memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0)
      return i;
  }
  return static_cast<std::uint32_t>(std::countr_zero(possible)); // one is always
}

class ImportedBuffer final : public VulkanAlias {
public:
  ImportedBuffer(LogicalDevicePtr device, VkBufferUsageFlags usage) noexcept
      : m_device(std::move(device)), m_usage(usage) {}

  Result<void> acquire(os::Fd, std::size_t bytes, std::size_t allocated, bool dedicated) noexcept;

  VulkanBuffer at(std::size_t offset) const noexcept override {
    return {.device = m_device->handle(),
            .buffer = m_buffer.get(),
            .memory = m_memory.get(),
            .offset = offset,
            .memoryType = m_type};
  }

private:
  Result<void> takeMemory(os::Fd, std::size_t allocated, bool dedicated) noexcept;

  LogicalDevicePtr m_device;
  VkBufferUsageFlags m_usage;
  OwnedMemory m_memory; ///< Freed after the buffer.
  OwnedBuffer m_buffer;
  std::uint32_t m_type{};
};

Result<void> ImportedBuffer::acquire(os::Fd fd, std::size_t bytes, std::size_t allocated,
                                     bool dedicated) noexcept {
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = opaqueFd;
  auto buffer = createBuffer(*m_device, bytes, m_usage, &external);
  if(!buffer)
    return buffer.error();
  m_buffer = *std::move(buffer);
  const VkMemoryRequirements requirements = requirementsOf(*m_device, m_buffer.get());
  if(requirements.size > allocated)
    return libraryError(makeCall, LibraryCode::VulkanNeedsMore, requirements.size, allocated);
  m_type = chooseType(m_device->gpu().memory, requirements.memoryTypeBits);
  return takeMemory(std::move(fd), allocated, dedicated);
}

Result<void> ImportedBuffer::takeMemory(os::Fd fd, std::size_t allocated, bool dedicated) noexcept {
  VkMemoryDedicatedAllocateInfo only{};
  only.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
  only.buffer = m_buffer.get();
  VkImportMemoryFdInfoKHR imported{};
  imported.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
  imported.pNext = dedicated ? &only : nullptr;
  imported.handleType = opaqueFd;
  imported.fd = fd.get();
  const VkMemoryRequirements all{.size = allocated, .alignment = 0, .memoryTypeBits = 0};
  auto memory = allocateFor(*m_device, m_buffer.get(), all, m_type, &imported);
  if(!memory)
    return memory.error();
  static_cast<void>(fd.release()); // Vulkan's now
  m_memory = *std::move(memory);
  return {};
}

class Importer final : public VulkanImporter {
public:
  Importer(LogicalDevicePtr device, VkBufferUsageFlags usage) noexcept
      : m_device(std::move(device)),
        m_usage(usage),
        m_features(
            externalFeatures(m_device->instance().functions(), m_device->gpu().handle, usage, opaqueFd)) {}

  Result<void> check() const noexcept {
    if((m_features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) == 0)
      return libraryError(makeCall, LibraryCode::VulkanUsageNotImported);
    return {};
  }
  Result<std::unique_ptr<const VulkanAlias>> import(os::Fd fd, std::size_t bytes,
                                                    std::size_t allocated) const override {
    auto buffer = std::make_unique<ImportedBuffer>(m_device, m_usage);
    const bool dedicated = (m_features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    if(const auto acquired = buffer->acquire(std::move(fd), bytes, allocated, dedicated); !acquired)
      return acquired.error();
    return std::unique_ptr<const VulkanAlias>{std::move(buffer)};
  }

private:
  LogicalDevicePtr m_device;
  VkBufferUsageFlags m_usage;
  VkExternalMemoryFeatureFlags m_features;
};

} // namespace
} // namespace rdmagpu::backend::vulkan

namespace rdmagpu::backend {

Result<std::shared_ptr<const VulkanImporter>> openVulkanImporter(const RdmaGpuBufferConfig& config,
                                                                 const std::array<std::byte, 16>& uuid) {
  auto device = vulkan::openMatchingDevice(config, uuid);
  if(!device)
    return device.error();
  constexpr VkBufferUsageFlags transfers =
      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  const VkBufferUsageFlags usage =
      config.vulkan.usage == 0 ? vulkan::slotUsage : config.vulkan.usage | transfers;
  auto importer = std::make_shared<const vulkan::Importer>(*std::move(device), usage);
  if(const auto checked = importer->check(); !checked)
    return checked.error();
  return std::shared_ptr<const VulkanImporter>{std::move(importer)};
}

} // namespace rdmagpu::backend
