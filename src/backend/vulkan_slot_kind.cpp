#include <backend/vulkan_instance.hpp>
#include <backend/vulkan_slot_kind.hpp>
#include <base/library_error.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

std::optional<LibraryCode> lackOfRdma(const Gpu& gpu) noexcept {
  if(!gpu.rdmaExtension)
    return LibraryCode::VulkanNoRdma;
  if(!gpu.rdmaFeature)
    return LibraryCode::VulkanRdmaOff;
  if(!gpu.exportsAddresses)
    return LibraryCode::VulkanNoAddressExport;
  if(rdmaTypes(gpu.memory) == 0)
    return LibraryCode::VulkanNoRdmaMemory;
  return {};
}

/// The extension alone says nothing: lavapipe lists it where it cannot export.
std::optional<LibraryCode> lackOfDmaBuf(const Gpu& gpu) noexcept {
  if(!gpu.memoryFdExtension)
    return LibraryCode::VulkanNoMemoryFd;
  if(!gpu.dmaBufExtension)
    return LibraryCode::VulkanNoDmaBuf;
  if((gpu.dmaBufs & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) == 0)
    return LibraryCode::VulkanNoDmaBufExport;
  return {};
}

bool isEnabled(const VulkanOptions& options, std::string_view extension) noexcept {
  return std::ranges::any_of(options.enabledExtensions,
                             [&](const char* name) { return name && name == extension; });
}

} // namespace

VkExternalMemoryHandleTypeFlagBits handleTypeOf(SlotKind kind) noexcept {
  switch(kind) {
  case SlotKind::RemoteAddress:
    return VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
  case SlotKind::DmaBuf:
    return VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  case SlotKind::Import:
    break;
  }
  return VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
}

std::vector<const char*> extensionsFor(SlotKind kind) {
  if(kind == SlotKind::DmaBuf)
    return {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME};
  if(kind == SlotKind::Import)
    return {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
  return {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME};
}

Result<void> checkGpu(SlotKind kind, const Gpu& gpu) noexcept {
  const auto lacks = [&](LibraryCode code) {
    Error error = libraryError(makeCall, code);
    error.device = gpu.ordinal;
    error.pci = gpu.pci;
    return error;
  };
  if(gpu.apiVersion < VK_API_VERSION_1_1)
    return lacks(LibraryCode::VulkanTooOld);
  if(kind == SlotKind::Import)
    return gpu.memoryFdExtension ? Result<void>{} : lacks(LibraryCode::VulkanTakesNoFds);
  const auto code = kind == SlotKind::DmaBuf ? lackOfDmaBuf(gpu) : lackOfRdma(gpu);
  return code ? Result<void>{lacks(*code)} : Result<void>{};
}

Result<void> checkEnabled(SlotKind kind, const VulkanOptions& options) noexcept {
  if(kind != SlotKind::RemoteAddress) {
    if(!isEnabled(options, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME))
      return libraryError(makeCall, LibraryCode::VulkanMemoryFdNotEnabled);
    if(kind == SlotKind::DmaBuf && !isEnabled(options, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME))
      return libraryError(makeCall, LibraryCode::VulkanDmaBufNotEnabled);
    return {};
  }
  if(!isEnabled(options, VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME))
    return libraryError(makeCall, LibraryCode::VulkanRdmaNotEnabled);
  if(!options.externalMemoryRdma)
    return libraryError(makeCall, LibraryCode::VulkanRdmaFeatureNotEnabled);
  return {};
}

} // namespace rdmagpu::backend::vulkan
