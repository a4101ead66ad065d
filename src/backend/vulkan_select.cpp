#include <backend/vulkan_select.hpp>
#include <base/library_error.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

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

Result<LogicalDevicePtr> borrowDevice(SlotKind kind, const RdmaGpuBufferConfig& config) {
  const auto& context = *static_cast<const VulkanContext*>(config.vulkanCtx);
  if(!context.instance || !context.physicalDevice || !context.device)
    return libraryError(makeCall, LibraryCode::VulkanContextIncomplete);
  auto instance = Instance::borrow(static_cast<VkInstance>(context.instance));
  if(!instance)
    return instance.error();
  const auto gpu = callersGpu(**instance, static_cast<VkPhysicalDevice>(context.physicalDevice), config.gpu);
  if(!gpu)
    return gpu.error();
  if(const auto checked = checkGpu(kind, *gpu); !checked)
    return checked.error();
  if(const auto enabled = checkEnabled(kind, config.vulkan); !enabled)
    return enabled.error();
  return LogicalDevice::borrow(*std::move(instance), *gpu, static_cast<VkDevice>(context.device),
                               config.vulkan);
}

Result<LogicalDevicePtr> createDevice(SlotKind kind, const RdmaGpuBufferConfig& config) {
  auto instance = Instance::create();
  if(!instance)
    return instance.error();
  const auto gpus = (*instance)->list();
  if(!gpus)
    return gpus.error();
  const auto gpu = chooseGpu(kind, *gpus, config);
  if(!gpu)
    return gpu.error();
  if(const auto checked = checkGpu(kind, *gpu); !checked)
    return checked.error();
  return LogicalDevice::create(kind, *std::move(instance), *gpu);
}

/// A device of the library's own on the GPU of that one, to copy on. Null where it cannot import the memory.
Result<LogicalDevicePtr> openCopyingDevice(SlotKind kind, const Gpu& gpu) {
  if(kind != SlotKind::DmaBuf)
    return LogicalDevicePtr{};
  auto instance = Instance::create();
  if(!instance)
    return instance.error();
  const auto gpus = (*instance)->list();
  if(!gpus)
    return gpus.error();
  const auto same = std::ranges::find(*gpus, gpu.uuid, &Gpu::uuid);
  if(same == gpus->end() || !checkGpu(kind, *same) ||
     (same->dmaBufs & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) == 0)
    return LogicalDevicePtr{};
  return LogicalDevice::create(kind, *std::move(instance), *same);
}

} // namespace

Result<SlotDevice> openSlotDevice(SlotKind kind, const RdmaGpuBufferConfig& config) {
  auto device = config.vulkanCtx ? borrowDevice(kind, config) : createDevice(kind, config);
  if(!device)
    return device.error();
  constexpr VkBufferUsageFlags transfers =
      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  SlotDevice opened{.device = *std::move(device),
                    .usage = config.vulkan.usage == 0 ? slotUsage : config.vulkan.usage | transfers};
  const Gpu& gpu = opened.device->gpu();
  opened.features =
      externalFeatures(opened.device->instance().functions(), gpu.handle, opened.usage, handleTypeOf(kind));
  if((opened.features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) == 0)
    return libraryError(makeCall, LibraryCode::VulkanUsageNotExported);
  auto copying =
      opened.device->queue() ? Result<LogicalDevicePtr>{opened.device} : openCopyingDevice(kind, gpu);
  if(!copying)
    return copying.error();
  if(!*copying) {
    if(config.zeroFill || config.scrubOnDestroy)
      return libraryError(makeCall, LibraryCode::VulkanNoQueueNamed);
    return opened;
  }
  auto copier = Copier::create(*std::move(copying));
  if(!copier)
    return copier.error();
  opened.copier = *std::move(copier);
  return opened;
}

BackendInfo probe(RdmaGpuApi api, SlotKind kind) {
  BackendInfo info{.api = api};
  const auto instance = Instance::create();
  const auto gpus = instance ? (*instance)->list() : Result<std::vector<Gpu>>{instance.error()};
  if(!gpus) {
    info.reason = gpus.error();
    return info;
  }
  for(const Gpu& gpu : *gpus) {
    const auto checked = checkGpu(kind, gpu);
    // Of a dma-buf nobody tells before a peer has attached it.
    const Answer capable = kind == SlotKind::DmaBuf ? Answer::Unknown : Answer::Yes;
    info.devices.push_back({.name = gpu.name, .pci = gpu.pci, .rdmaCapable = checked ? capable : Answer::No});
    info.available = info.available || checked;
    if(!checked && info.reason.kind == Errc::None)
      info.reason = checked.error();
  }
  if(info.available)
    info.reason = {};
  return info;
}

} // namespace rdmagpu::backend::vulkan
