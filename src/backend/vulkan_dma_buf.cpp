#include <backend/registry.hpp>
#include <backend/vulkan_dma_buf_region.hpp>
#include <base/library_error.hpp>

#include <limits>
#include <memory>
#include <utility>

namespace rdmagpu::backend::vulkan_dma_buf {
namespace {

using vulkan::SlotDevice;
using vulkan::SlotKind;

class VulkanDmaBufDevice final : public Device {
public:
  explicit VulkanDmaBufDevice(SlotDevice on) noexcept : m_on(std::move(on)) {}

  Result<RegionPtr> allocate(const RegionRequest& request) override {
    return vulkan::DmaBufRegion::allocate(m_on, request);
  }
  std::size_t slotGranularity() const noexcept override { return sharedPageBytes(); }

  std::optional<Budget> budget(const RdmaGpuBufferConfig&) const override {
    const vulkan::Gpu& gpu = m_on.device->gpu();
    const auto type =
        vulkan::chooseDmaBufType(gpu.memory, std::numeric_limits<std::uint32_t>::max()); // for any buffer
    if(!type)
      return {};
    const std::uint32_t heap = gpu.memory.memoryTypes[*type].heapIndex;
    const auto free = vulkan::freeHeapBytes(m_on.device->instance(), gpu, heap);
    return Budget{lessReserve(free.value_or(gpu.memory.memoryHeaps[heap].size)),
                  LibraryCode::VulkanHeapExceeded};
  }

private:
  SlotDevice m_on;
};

class VulkanDmaBufBackend final : public Backend {
public:
  RdmaGpuApi api() const noexcept override { return RdmaGpuApi::VulkanDmaBuf; }
  HandoffKind handoffKind() const noexcept override { return HandoffKind::DmaBuf; }
  BackendInfo probe() const override { return vulkan::probe(api(), SlotKind::DmaBuf); }

  Result<DevicePtr> open(const RdmaGpuBufferConfig& config) const override {
    auto opened = vulkan::openSlotDevice(SlotKind::DmaBuf, config);
    if(!opened)
      return opened.error();
    return DevicePtr{std::make_shared<VulkanDmaBufDevice>(*std::move(opened))};
  }
};

} // namespace

const Backend& instance() noexcept {
  static const VulkanDmaBufBackend backend;
  return backend;
}

} // namespace rdmagpu::backend::vulkan_dma_buf
