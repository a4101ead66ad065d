#include <backend/vulkan_select.hpp>
#include <base/library_error.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

/// Nobody but the caller knows what is enabled on the device: it is what the options say.
Result<void> checkEnabled(const VulkanOptions& options) noexcept {
  const bool rdma = std::ranges::any_of(options.enabledExtensions, [](const char* name) {
    return name && std::string_view{name} == VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME;
  });
  if(!rdma)
    return libraryError(makeCall, LibraryCode::VulkanRdmaNotEnabled);
  if(!options.externalMemoryRdma)
    return libraryError(makeCall, LibraryCode::VulkanRdmaFeatureNotEnabled);
  return {};
}

/// The caller's GPU, which must be the one that is named besides, if one is.
Result<Gpu> callersGpu(const Instance& instance, VkPhysicalDevice device, const GpuSelector& named) {
  const auto gpus = instance.list();
  if(!gpus)
    return gpus.error();
  const auto found = std::ranges::find(*gpus, device, &Gpu::handle);
  if(found == gpus->end())
    return libraryError(makeCall, LibraryCode::VulkanForeignPhysicalDevice);
  if(named.luid) // Windows' way
    return libraryError(makeCall, LibraryCode::PlatformLacks);
  if(named.empty())
    return *found;
  const auto same = namedGpu(*gpus, named);
  if(!same)
    return same.error();
  if(same->handle != device)
    return libraryError(makeCall, LibraryCode::GpuSelectorConflict);
  return *found;
}

Result<LogicalDevicePtr> borrowDevice(const RdmaGpuBufferConfig& config) {
  const auto& context = *static_cast<const VulkanContext*>(config.vulkanCtx);
  if(!context.instance || !context.physicalDevice || !context.device)
    return libraryError(makeCall, LibraryCode::VulkanContextIncomplete);
  auto instance = Instance::borrow(static_cast<VkInstance>(context.instance));
  if(!instance)
    return instance.error();
  const auto gpu = callersGpu(**instance, static_cast<VkPhysicalDevice>(context.physicalDevice), config.gpu);
  if(!gpu)
    return gpu.error();
  if(const auto checked = checkRdma(*gpu); !checked)
    return checked.error();
  if(const auto enabled = checkEnabled(config.vulkan); !enabled)
    return enabled.error();
  return LogicalDevice::borrow(*std::move(instance), *gpu, static_cast<VkDevice>(context.device),
                               config.vulkan);
}

Result<LogicalDevicePtr> createDevice(const RdmaGpuBufferConfig& config) {
  auto instance = Instance::create();
  if(!instance)
    return instance.error();
  const auto gpus = (*instance)->list();
  if(!gpus)
    return gpus.error();
  const auto gpu = chooseGpu(*gpus, config);
  if(!gpu)
    return gpu.error();
  if(const auto checked = checkRdma(*gpu); !checked)
    return checked.error();
  return LogicalDevice::create(*std::move(instance), *gpu);
}

} // namespace

Result<SlotDevice> openSlotDevice(const RdmaGpuBufferConfig& config) {
  auto device = config.vulkanCtx ? borrowDevice(config) : createDevice(config);
  if(!device)
    return device.error();
  constexpr VkBufferUsageFlags transfers =
      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  SlotDevice opened{.device = *std::move(device),
                    .usage = config.vulkan.usage == 0 ? slotUsage : config.vulkan.usage | transfers};
  const VkExternalMemoryFeatureFlags features =
      externalFeatures(opened.device->instance().functions(), opened.device->gpu().handle, opened.usage,
                       VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV);
  if((features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) == 0)
    return libraryError(makeCall, LibraryCode::VulkanUsageNotExported);
  if(!opened.device->queue()) {
    if(config.zeroFill || config.scrubOnDestroy)
      return libraryError(makeCall, LibraryCode::VulkanNoQueueNamed);
    return opened;
  }
  auto copier = Copier::create(opened.device);
  if(!copier)
    return copier.error();
  opened.copier = *std::move(copier);
  return opened;
}

} // namespace rdmagpu::backend::vulkan
