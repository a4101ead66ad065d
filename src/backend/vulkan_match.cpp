#include <backend/vulkan_match.hpp>
#include <backend/vulkan_slot_kind.hpp>
#include <base/library_error.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

using Uuid = std::array<std::byte, 16>;

Error withUuid(LibraryCode code, const Uuid& uuid) noexcept {
  Error error = libraryError(makeCall, code);
  error.uuid = uuid;
  return error;
}

Result<LogicalDevicePtr> borrowDevice(const RdmaGpuBufferConfig& config, const Uuid& uuid) {
  const auto& context = *static_cast<const VulkanContext*>(config.vulkanCtx);
  if(!context.instance || !context.physicalDevice || !context.device)
    return libraryError(makeCall, LibraryCode::VulkanContextIncomplete);
  auto instance = Instance::borrow(static_cast<VkInstance>(context.instance));
  if(!instance)
    return instance.error();
  const auto gpus = (*instance)->list();
  if(!gpus)
    return gpus.error();
  const auto gpu =
      std::ranges::find(*gpus, static_cast<VkPhysicalDevice>(context.physicalDevice), &Gpu::handle);
  if(gpu == gpus->end())
    return libraryError(makeCall, LibraryCode::VulkanForeignPhysicalDevice);
  if(gpu->uuid != uuid)
    return withUuid(LibraryCode::VulkanOtherGpu, uuid);
  if(const auto checked = checkGpu(SlotKind::Import, *gpu); !checked)
    return checked.error();
  if(const auto enabled = checkEnabled(SlotKind::Import, config.vulkan); !enabled)
    return enabled.error();
  VulkanOptions copiesNothing = config.vulkan; // CUDA does
  copiesNothing.queue = nullptr;
  return LogicalDevice::borrow(*std::move(instance), *gpu, static_cast<VkDevice>(context.device),
                               copiesNothing);
}

Result<LogicalDevicePtr> createDevice(const Uuid& uuid) {
  auto instance = Instance::create();
  if(!instance)
    return instance.error();
  const auto gpus = (*instance)->list();
  if(!gpus)
    return gpus.error();
  const auto gpu = std::ranges::find(*gpus, uuid, &Gpu::uuid);
  if(gpu == gpus->end())
    return withUuid(LibraryCode::VulkanLacksGpu, uuid);
  if(const auto checked = checkGpu(SlotKind::Import, *gpu); !checked)
    return checked.error();
  return LogicalDevice::create(SlotKind::Import, *std::move(instance), *gpu);
}

} // namespace

Result<LogicalDevicePtr> openMatchingDevice(const RdmaGpuBufferConfig& config, const Uuid& uuid) {
  return config.vulkanCtx ? borrowDevice(config, uuid) : createDevice(uuid);
}

} // namespace rdmagpu::backend::vulkan
