#include <backend/vulkan_region.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

} // namespace

RdmaHeap rdmaHeap(const LogicalDevice& device) noexcept {
  const Gpu& gpu = device.gpu();
  const auto type = static_cast<std::uint32_t>(std::countr_zero(rdmaTypes(gpu.memory)));
  const std::uint32_t heap = gpu.memory.memoryTypes[type].heapIndex;
  return {gpu.memory.memoryHeaps[heap].size, freeHeapBytes(device.instance(), gpu, heap)};
}

Result<RegionPtr> RdmaRegion::allocate(const SlotDevice& on, const RdmaHeap& before,
                                       const RegionRequest& request) {
  // The constructor is not make_shared's to call.
  const std::shared_ptr<RdmaRegion> region{new RdmaRegion{on, before, request}};
  if(const auto acquired = region->acquire(); !acquired)
    return acquired.error();
  if(request.config.zeroFill) {
    if(const auto cleared = region->clear(0, request.bytes); !cleared)
      return cleared.error();
  }
  return RegionPtr{region};
}

Result<void> RdmaRegion::acquire() noexcept {
  const LogicalDevice& device = *m_on.device;
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
  auto buffer = createBuffer(device, m_bytes, m_on.usage, &external);
  if(!buffer)
    return buffer.error();
  m_buffer = *std::move(buffer);
  copyBuffer(m_buffer.get());

  const VkMemoryRequirements requirements = requirementsOf(device, m_buffer.get());
  const std::uint32_t types = requirements.memoryTypeBits & rdmaTypes(device.gpu().memory);
  if(types == 0)
    return libraryError(makeCall, LibraryCode::VulkanNoRdmaMemory);
  m_type = static_cast<std::uint32_t>(std::countr_zero(types));
  VkMemoryDedicatedAllocateInfo dedicated{};
  dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
  dedicated.buffer = m_buffer.get();
  VkExportMemoryAllocateInfo exported{};
  exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
  exported.pNext = &dedicated;
  exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
  auto memory = allocateFor(device, m_buffer.get(), requirements, m_type, &exported);
  if(!memory) {
    Error error = memory.error();
    if(error.kind == Errc::OutOfMemory)
      error.available = rdmaHeap(device).freeBytes.value_or(0);
    return error;
  }
  m_memory = *std::move(memory);
  m_committed = requirements.size;
  return readAddress();
}

Result<void> RdmaRegion::readAddress() noexcept {
  const LogicalDevice& device = *m_on.device;
  VkMemoryGetRemoteAddressInfoNV info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV;
  info.memory = m_memory.get();
  info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
  const VkMemoryGetRemoteAddressInfoNV* const asked = &info;
  const auto got =
      api::call(m_bytes, device.functions().getMemoryRemoteAddress, device.handle(), asked, &m_address);
  if(got && !m_address)
    return libraryError("vkGetMemoryRemoteAddressNV", LibraryCode::VulkanNoAddress);
  return got;
}

RdmaRegion::~RdmaRegion() {
  // A forked child must not wipe the parent's slots; and what was not built has no address.
  if(!m_scrub || !m_address || inForkedChild())
    return;
  if(const auto cleared = clear(0, m_bytes); !cleared)
    log(LogLevel::Failure, "slots could not be scrubbed", cleared.error());
}

void RdmaRegion::describe(BufferFacts& facts) const {
  const Gpu& gpu = m_on.device->gpu();
  facts.device = gpu.name;
  facts.pci = gpu.pci;
  const auto aligned = std::size_t{1} << std::countr_zero(reinterpret_cast<std::uintptr_t>(m_address));
  facts.pageBytes = std::min(facts.pageBytes != 0 ? facts.pageBytes : gpuPageBytes, aligned);
  facts.committedBytes += m_committed;
  facts.residentBytes += m_committed;
  facts.bar1Bytes = m_before.bytes;
  facts.bar1FreeBytes = m_before.freeBytes.value_or(m_before.bytes);
  facts.directForGpu = Answer::Yes;
  facts.rdmaCapable = Answer::Yes; // the type of memory says so, and the driver has given an address
}

} // namespace rdmagpu::backend::vulkan
