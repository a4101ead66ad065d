#include <backend/registry.hpp>
#include <backend/vulkan_region.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

class VulkanDevice final : public Device {
public:
  explicit VulkanDevice(SlotDevice on) noexcept : m_on(std::move(on)), m_heap(rdmaHeap(*m_on.device)) {}

  Result<RegionPtr> allocate(const RegionRequest& request) override {
    return RdmaRegion::allocate(m_on, m_heap, request);
  }
  std::size_t slotGranularity() const noexcept override { return sharedPageBytes(); }
  bool oneRegionPerSlot() const noexcept override { return true; } // an address is promised for each

  std::optional<Budget> budget(const RdmaGpuBufferConfig& config) const override {
    const Gpu& gpu = m_on.device->gpu();
    const Budget memory{lessReserve(m_heap.freeBytes.value_or(m_heap.bytes)),
                        LibraryCode::VulkanBudgetExceeded};
    const std::uint32_t copiers = m_on.copier ? 1 : 0; // its allocation
    const std::uint64_t slots = gpu.maxAllocations - std::min(gpu.maxAllocations, copiers);
    const auto stride = roundUp(config.frameBytes, slotGranularity());
    if(!stride || slots > memory.bytes / std::max<std::size_t>(*stride, 1))
      return memory;
    return Budget{slots * *stride, LibraryCode::VulkanTooManySlots};
  }

private:
  SlotDevice m_on;
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
    auto opened = openSlotDevice(config);
    if(!opened)
      return opened.error();
    return DevicePtr{std::make_shared<VulkanDevice>(*std::move(opened))};
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
