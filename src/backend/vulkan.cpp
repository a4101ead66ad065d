#include <backend/registry.hpp>
#include <backend/vulkan_copier.hpp>
#include <backend/vulkan_region.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";
constexpr std::uint32_t ownAllocations = 1; ///< The copier's.

class VulkanDevice final : public Device {
public:
  explicit VulkanDevice(std::shared_ptr<const Copier> copier) noexcept
      : m_copier(std::move(copier)), m_heap(rdmaHeap(m_copier->device())) {}

  Result<RegionPtr> allocate(const RegionRequest& request) override {
    return RdmaRegion::allocate(m_copier, m_heap, request);
  }
  std::size_t slotGranularity() const noexcept override { return sharedPageBytes(); }
  bool oneRegionPerSlot() const noexcept override { return true; } // an address is promised for each

  std::optional<Budget> budget(const RdmaGpuBufferConfig& config) const override {
    const Gpu& gpu = m_copier->device().gpu();
    const Budget memory{lessReserve(m_heap.freeBytes.value_or(m_heap.bytes)),
                        LibraryCode::VulkanBudgetExceeded};
    const std::uint64_t slots = gpu.maxAllocations - std::min(gpu.maxAllocations, ownAllocations);
    const auto stride = roundUp(config.frameBytes, slotGranularity());
    if(!stride || slots > memory.bytes / std::max<std::size_t>(*stride, 1))
      return memory;
    return Budget{slots * *stride, LibraryCode::VulkanTooManySlots};
  }

private:
  std::shared_ptr<const Copier> m_copier;
  RdmaHeap m_heap; ///< When it was opened, which is for one buffer.
};

class VulkanBackend final : public Backend {
public:
  RdmaGpuApi api() const noexcept override { return RdmaGpuApi::Vulkan; }
  HandoffKind handoffKind() const noexcept override { return HandoffKind::VulkanRemoteAddress; }

  BackendInfo probe() const override {
    BackendInfo info{.api = api()};
    const auto gpus = list();
    if(!gpus) {
      info.reason = gpus.error();
      return info;
    }
    for(const Gpu& gpu : *gpus) {
      const auto checked = checkRdma(gpu);
      info.devices.push_back(
          {.name = gpu.name, .pci = gpu.pci, .rdmaCapable = checked ? Answer::Yes : Answer::No});
      info.available = info.available || checked;
      if(!checked && info.reason.kind == Errc::None)
        info.reason = checked.error();
    }
    if(info.available)
      info.reason = {};
    return info;
  }

  Result<DevicePtr> open(const RdmaGpuBufferConfig& config) const override {
    if(config.vulkanCtx)
      return libraryError(makeCall, LibraryCode::VulkanForeignDevice);
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
    auto device = LogicalDevice::create(*std::move(instance), *gpu);
    if(!device)
      return device.error();
    auto copier = Copier::create(*std::move(device));
    if(!copier)
      return copier.error();
    return DevicePtr{std::make_shared<VulkanDevice>(*std::move(copier))};
  }

private:
  static Result<std::vector<Gpu>> list() {
    const auto instance = Instance::create();
    if(!instance)
      return instance.error();
    return (*instance)->list();
  }
};

} // namespace

const Backend& instance() noexcept {
  static const VulkanBackend backend;
  return backend;
}

} // namespace rdmagpu::backend::vulkan
