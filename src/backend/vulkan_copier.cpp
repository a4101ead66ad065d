#include <backend/vulkan_copier.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr std::uint64_t pieceBytes = 8U << 20; // a 2160p frame of v210 is three

/// Memory that the CPU maps, and better reads from a cache. None that peers reach: that is scarce.
std::optional<std::uint32_t> chooseMappedType(const VkPhysicalDeviceMemoryProperties& memory,
                                              std::uint32_t possible) noexcept {
  constexpr VkMemoryPropertyFlags needed =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  std::optional<std::uint32_t> chosen;
  for(std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    const bool fits = (possible >> i & 1U) != 0 && (flags & needed) == needed &&
                      (flags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV) == 0;
    if(fits && (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0)
      return i;
    if(fits && !chosen)
      chosen = i;
  }
  return chosen;
}

void barrier(const api::DeviceFunctions& vulkan, VkCommandBuffer commands, VkPipelineStageFlags fromStage,
             VkAccessFlags from, VkPipelineStageFlags toStage, VkAccessFlags to) noexcept {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = from;
  memory.dstAccessMask = to;
  vulkan.cmdPipelineBarrier(commands, fromStage, toStage, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

} // namespace

Result<std::shared_ptr<const Copier>> Copier::create(LogicalDevicePtr device) {
  const std::shared_ptr<Copier> copier{new Copier{std::move(device)}}; // not make_shared's to call
  if(const auto prepared = copier->prepare(); !prepared)
    return prepared.error();
  return std::shared_ptr<const Copier>{copier};
}

Result<void> Copier::prepare() noexcept {
  const api::DeviceFunctions& vulkan = m_device->functions();
  VkDevice device = m_device->handle();
  auto buffer = createBuffer(*m_device, pieceBytes,
                             VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, nullptr);
  if(!buffer)
    return buffer.error();
  m_buffer = *std::move(buffer);
  const VkMemoryRequirements requirements = requirementsOf(*m_device, m_buffer.get());
  const auto type = chooseMappedType(m_device->gpu().memory, requirements.memoryTypeBits);
  if(!type)
    return libraryError("vkGetPhysicalDeviceMemoryProperties2", LibraryCode::VulkanNoMappedMemory);
  auto memory = allocateFor(*m_device, m_buffer.get(), requirements, *type, nullptr);
  if(!memory)
    return memory.error();
  m_memory = *std::move(memory);
  void* mapped{};
  const auto map = api::call(pieceBytes, vulkan.mapMemory, device, m_memory.get(), VkDeviceSize{0},
                             VkDeviceSize{VK_WHOLE_SIZE}, VkMemoryMapFlags{0}, &mapped);
  if(!map)
    return map;
  m_mapped = static_cast<std::byte*>(mapped);

  VkCommandPoolCreateInfo poolInfo{};
  poolInfo.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  poolInfo.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT | VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  poolInfo.queueFamilyIndex = m_device->queueFamily();
  VkCommandPool pool{};
  const VkCommandPoolCreateInfo* const askedPool = &poolInfo;
  if(const auto created = api::call(0, vulkan.createCommandPool, device, askedPool, api::Callbacks{}, &pool);
     !created)
    return created;
  m_pool = OwnedPool{*m_device, pool};
  VkCommandBufferAllocateInfo commandsInfo{};
  commandsInfo.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  commandsInfo.commandPool = pool;
  commandsInfo.commandBufferCount = 1;
  const VkCommandBufferAllocateInfo* const askedCommands = &commandsInfo;
  if(const auto allocated = api::call(0, vulkan.allocateCommandBuffers, device, askedCommands, &m_commands);
     !allocated)
    return allocated;
  VkFenceCreateInfo fenceInfo{};
  fenceInfo.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkFence fence{};
  const VkFenceCreateInfo* const askedFence = &fenceInfo;
  if(const auto created = api::call(0, vulkan.createFence, device, askedFence, api::Callbacks{}, &fence);
     !created)
    return created;
  m_fence = OwnedFence{*m_device, fence};
  return {};
}

Result<void> Copier::begin() const noexcept {
  const api::DeviceFunctions& vulkan = m_device->functions();
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkCommandBufferBeginInfo* const asked = &begin;
  if(const auto begun = api::call(0, vulkan.beginCommandBuffer, m_commands, asked); !begun)
    return begun;
  // Of what others than this queue have written, such as the CPU or the peer.
  barrier(vulkan, m_commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  return {};
}

Result<void> Copier::finish() const noexcept {
  const api::DeviceFunctions& vulkan = m_device->functions();
  barrier(vulkan, m_commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
  if(const auto ended = api::call(0, vulkan.endCommandBuffer, m_commands); !ended)
    return ended;

  VkFence fence = m_fence.get();
  const VkFence* const fences = &fence;
  if(const auto reset = api::call(0, vulkan.resetFences, m_device->handle(), 1U, fences); !reset)
    return reset;
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &m_commands;
  const VkSubmitInfo* const submits = &submit;
  if(const auto submitted = api::call(0, vulkan.queueSubmit, m_device->queue(), 1U, submits, fence);
     !submitted)
    return submitted;
  const auto waited = api::call(0, vulkan.waitForFences, m_device->handle(), 1U, fences, VkBool32{VK_TRUE},
                                std::numeric_limits<std::uint64_t>::max());
  if(!waited)
    settle();
  return waited;
}

/// The commands, and the memory that they copy, are used again or freed.
void Copier::settle() const noexcept {
  const api::DeviceFunctions& vulkan = m_device->functions();
  if(const auto idle = api::call(0, vulkan.queueWaitIdle, m_device->queue()); !idle)
    log(LogLevel::Failure, "a copy of Vulkan's may still be under way", idle.error());
}

Result<void> Copier::read(VkBuffer from, std::uint64_t offset, std::uint64_t bytes,
                          const std::function<void(std::span<const std::byte>)>& see) const {
  if(const auto own = checkProcess(); !own)
    return own;
  const std::lock_guard lock{m_mutex};
  for(std::uint64_t done = 0; done < bytes;) {
    const VkBufferCopy piece{
        .srcOffset = offset + done, .dstOffset = 0, .size = std::min(pieceBytes, bytes - done)};
    if(const auto begun = begin(); !begun)
      return begun;
    m_device->functions().cmdCopyBuffer(m_commands, from, m_buffer.get(), 1, &piece);
    if(const auto copied = finish(); !copied)
      return copied;
    see({m_mapped, piece.size});
    done += piece.size;
  }
  return {};
}

Result<void> Copier::write(VkBuffer to, std::uint64_t offset, std::uint64_t bytes,
                           const std::function<void(std::span<std::byte>)>& make) const {
  if(const auto own = checkProcess(); !own)
    return own;
  const std::lock_guard lock{m_mutex};
  for(std::uint64_t done = 0; done < bytes;) {
    const VkBufferCopy piece{
        .srcOffset = 0, .dstOffset = offset + done, .size = std::min(pieceBytes, bytes - done)};
    make({m_mapped, piece.size});
    if(const auto begun = begin(); !begun)
      return begun;
    m_device->functions().cmdCopyBuffer(m_commands, m_buffer.get(), to, 1, &piece);
    if(const auto copied = finish(); !copied)
      return copied;
    done += piece.size;
  }
  return {};
}

Result<void> Copier::upload(VkBuffer to, std::uint64_t offset, std::span<const std::byte> from) const {
  const std::byte* next = from.data();
  return write(to, offset, from.size(), [&](std::span<std::byte> piece) {
    std::memcpy(piece.data(), next, piece.size());
    next += piece.size();
  });
}

Result<void> Copier::download(VkBuffer from, std::uint64_t offset, std::span<std::byte> to) const {
  std::byte* next = to.data();
  return read(from, offset, to.size(), [&](std::span<const std::byte> piece) {
    std::memcpy(next, piece.data(), piece.size());
    next += piece.size();
  });
}

Result<void> Copier::clear(VkBuffer buffer, std::uint64_t offset, std::uint64_t bytes) const {
  if(const auto own = checkProcess(); !own)
    return own;
  const std::lock_guard lock{m_mutex};
  if(const auto begun = begin(); !begun)
    return begun;
  m_device->functions().cmdFillBuffer(m_commands, buffer, offset, bytes, 0);
  return finish();
}

} // namespace rdmagpu::backend::vulkan
