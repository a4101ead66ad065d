#include <backend/vulkan_dma_buf_region.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>

#include <bit>
#include <utility>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";
constexpr VkExternalMemoryHandleTypeFlagBits dmaBuf = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;

bool mustBeDedicated(const LogicalDevice& device, VkBuffer buffer) noexcept {
  VkBufferMemoryRequirementsInfo2 info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
  info.buffer = buffer;
  VkMemoryDedicatedRequirements dedicated{};
  dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS;
  VkMemoryRequirements2 requirements{};
  requirements.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
  requirements.pNext = &dedicated;
  device.functions().getBufferMemoryRequirements2(device.handle(), &info, &requirements);
  return dedicated.requiresDedicatedAllocation == VK_TRUE;
}

Result<OwnedBuffer> createShared(const LogicalDevice& device, std::uint64_t bytes,
                                 VkBufferUsageFlags usage) noexcept {
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = dmaBuf;
  return createBuffer(device, bytes, usage, &external);
}

VkMemoryDedicatedAllocateInfo dedicatedTo(VkBuffer buffer) noexcept {
  VkMemoryDedicatedAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
  info.buffer = buffer;
  return info;
}

} // namespace

std::optional<std::uint32_t> chooseDmaBufType(const VkPhysicalDeviceMemoryProperties& memory,
                                              std::uint32_t possible) noexcept {
  // Made for other things, scarce, or in need of features.
  constexpr VkMemoryPropertyFlags special =
      VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV | VK_MEMORY_PROPERTY_PROTECTED_BIT |
      VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
  std::optional<std::uint32_t> chosen;
  int best = -1;
  for(std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if((possible >> i & 1U) == 0 || (flags & special) != 0)
      continue;
    const bool local = (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    const bool mapped = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
    const int worth = local ? (mapped ? 2 : 1) : 0;
    if(worth > best) {
      best = worth;
      chosen = i;
    }
  }
  return chosen;
}

Result<RegionPtr> DmaBufRegion::allocate(const SlotDevice& on, const RegionRequest& request) {
  // The constructor is not make_shared's to call.
  const std::shared_ptr<DmaBufRegion> region{new DmaBufRegion{on, request}};
  if(const auto acquired = region->acquire(); !acquired)
    return acquired.error();
  if(request.config.zeroFill) {
    if(const auto cleared = region->clear(0, request.bytes); !cleared)
      return cleared.error();
  }
  return RegionPtr{region};
}

Result<void> DmaBufRegion::acquire() noexcept {
  const LogicalDevice& device = *m_on.device;
  auto buffer = createShared(device, m_bytes, m_on.usage);
  if(!buffer)
    return buffer.error();
  m_buffer = *std::move(buffer);
  const VkMemoryRequirements requirements = requirementsOf(device, m_buffer.get());
  const auto type = chooseDmaBufType(device.gpu().memory, requirements.memoryTypeBits);
  if(!type)
    return libraryError(makeCall, LibraryCode::VulkanNoDmaBufMemory);
  m_type = *type;
  m_dedicated = (m_on.features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0 ||
                mustBeDedicated(device, m_buffer.get());
  VkExportMemoryAllocateInfo exported{};
  exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
  exported.handleTypes = dmaBuf;
  const VkMemoryDedicatedAllocateInfo dedicated = dedicatedTo(m_buffer.get());
  exported.pNext = m_dedicated ? &dedicated : nullptr;
  auto memory = allocateFor(device, m_buffer.get(), requirements, m_type, &exported);
  if(!memory)
    return memory.error();
  m_memory = *std::move(memory);
  m_committed = requirements.size;
  if(m_on.copier && &m_on.copier->device() != &device) {
    if(const auto imported = importForCopies(); !imported)
      return imported;
    copyBuffer(m_importedBuffer.get());
  } else {
    copyBuffer(m_buffer.get());
  }
  m_built = true;
  return {};
}

Result<void> DmaBufRegion::importForCopies() noexcept {
  const LogicalDevice& device = m_on.copier->device();
  auto buffer =
      createShared(device, m_bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  if(!buffer)
    return buffer.error();
  m_importedBuffer = *std::move(buffer);
  auto fd = openFd();
  if(!fd)
    return fd.error();
  VkMemoryFdPropertiesKHR properties{};
  properties.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR;
  if(const auto told = api::call(m_bytes, device.functions().getMemoryFdProperties, device.handle(), dmaBuf,
                                 fd->get(), &properties);
     !told)
    return told;
  const std::uint32_t types =
      requirementsOf(device, m_importedBuffer.get()).memoryTypeBits & properties.memoryTypeBits;
  if(types == 0)
    return libraryError(makeCall, LibraryCode::VulkanNoDmaBufMemory);
  VkImportMemoryFdInfoKHR import{};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
  import.handleType = dmaBuf;
  import.fd = fd->get();
  const VkMemoryDedicatedAllocateInfo dedicated = dedicatedTo(m_importedBuffer.get());
  import.pNext = m_dedicated ? &dedicated : nullptr;
  auto memory =
      allocateMemory(device, m_committed, static_cast<std::uint32_t>(std::countr_zero(types)), &import);
  if(!memory)
    return memory.error();
  static_cast<void>(fd->release()); // the driver's, once it has imported it
  m_importedMemory = *std::move(memory);
  return bind(device, m_importedBuffer.get(), m_importedMemory.get(), m_bytes);
}

Result<os::Fd> DmaBufRegion::openFd() const noexcept {
  VkMemoryGetFdInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
  info.memory = m_memory.get();
  info.handleType = dmaBuf;
  const VkMemoryGetFdInfoKHR* const asked = &info;
  int fd = -1;
  const auto got =
      api::call(m_bytes, m_on.device->functions().getMemoryFd, m_on.device->handle(), asked, &fd);
  if(!got)
    return got.error();
  return os::aboveStandard(os::Fd{fd});
}

Result<ExportedFd> DmaBufRegion::exportDmaBuf(std::size_t offset, std::size_t) const {
  if(const auto own = checkProcess(); !own)
    return own.error();
  auto fd = openFd();
  if(!fd)
    return fd.error();
  return ExportedFd{.fd = *std::move(fd), .offset = offset};
}

DmaBufRegion::~DmaBufRegion() {
  // A forked child must not wipe the parent's slots.
  if(!m_scrub || !m_built || inForkedChild())
    return;
  if(const auto cleared = clear(0, m_bytes); !cleared)
    log(LogLevel::Failure, "slots could not be scrubbed", cleared.error());
}

void DmaBufRegion::describe(BufferFacts& facts) const {
  const Gpu& gpu = m_on.device->gpu();
  facts.device = gpu.name;
  facts.pci = gpu.pci;
  facts.pageBytes = gpuPageBytes; // slots start on multiples of it
  facts.committedBytes += m_committed;
  facts.residentBytes += m_committed;
  facts.directForGpu = Answer::Yes;
  facts.rdmaCapable = Answer::Unknown; // nobody tells before a peer has attached the dma-buf
}

} // namespace rdmagpu::backend::vulkan
