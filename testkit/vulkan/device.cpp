#include <vulkan/layer.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace rdmagpu::standin::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlags reachable = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV |
                                                      VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT |
                                                      VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT; // CUDA's

/// Calls what is below, if the call is not made to fail.
template <class Function, class... Args>
VkResult pass(const void* dispatchable, const char* name, Args... args) {
  if(const auto failed = fault(name))
    return *failed;
  return below<Function>(deviceOf(dispatchable), name)(args...);
}

VKAPI_ATTR void VKAPI_CALL destroyDevice(VkDevice device, const VkAllocationCallbacks* callbacks) {
  if(!device)
    return;
  void* const key = keyOf(device);
  below<PFN_vkDestroyDevice>(deviceOf(device), "vkDestroyDevice")(device, callbacks);
  note("devices", -1);
  const std::lock_guard lock{state().mutex};
  state().devices.erase(key);
}

VKAPI_ATTR VkResult VKAPI_CALL createBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                            const VkAllocationCallbacks* callbacks, VkBuffer* buffer) {
  // What peers reach is, below, the process's own memory.
  VkExternalMemoryBufferCreateInfo host{};
  host.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  host.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkBufferCreateInfo changed = *info;
  const auto* external = findIn<VkExternalMemoryBufferCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  if(external && (external->handleTypes & reachable) != 0) {
    changed.pNext = &host;
    const std::lock_guard lock{state().mutex};
    state().lastUsage = info->usage;
  }
  const VkBufferCreateInfo* const asked = &changed;
  const VkResult result =
      pass<PFN_vkCreateBuffer>(device, "vkCreateBuffer", device, asked, callbacks, buffer);
  note("buffers", result == VK_SUCCESS ? 1 : 0);
  if(result == VK_SUCCESS && changed.pNext == &host) {
    const std::lock_guard lock{state().mutex};
    state().lastReachable = *buffer;
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroyBuffer(VkDevice device, VkBuffer buffer,
                                         const VkAllocationCallbacks* callbacks) {
  below<PFN_vkDestroyBuffer>(deviceOf(device), "vkDestroyBuffer")(device, buffer, callbacks);
  note("buffers", buffer ? -1 : 0);
}

bool isReachable(VkBuffer buffer) {
  const std::lock_guard lock{state().mutex};
  return state().lastReachable == buffer;
}

void addType(const Device& device, VkBuffer buffer, VkMemoryRequirements& requirements) {
  if(device.addedType != UINT32_MAX && (requirements.memoryTypeBits >> device.hostType & 1U) != 0 &&
     !isMode("memory-not-for-buffers"))
    requirements.memoryTypeBits |= 1U << device.addedType;
  if(isMode("dma-buf-no-memory") && device.dmaBuf && isReachable(buffer))
    requirements.memoryTypeBits = 0;
}

VKAPI_ATTR void VKAPI_CALL getRequirements(VkDevice device, VkBuffer buffer,
                                           VkMemoryRequirements* requirements) {
  const Device& known = deviceOf(device);
  below<PFN_vkGetBufferMemoryRequirements>(known, "vkGetBufferMemoryRequirements")(device, buffer,
                                                                                   requirements);
  addType(known, buffer, *requirements);
}

VKAPI_ATTR void VKAPI_CALL getRequirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2* info,
                                            VkMemoryRequirements2* requirements) {
  const Device& known = deviceOf(device);
  below<PFN_vkGetBufferMemoryRequirements2>(known, "vkGetBufferMemoryRequirements2")(device, info,
                                                                                     requirements);
  addType(known, info->buffer, requirements->memoryRequirements);
  if(isMode("greedy-buffers"))
    requirements->memoryRequirements.size += std::uint64_t{1} << 30;
  auto* dedicated = findIn<VkMemoryDedicatedRequirements>(requirements->pNext,
                                                          VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
  if(dedicated && isMode("dedicated"))
    dedicated->requiresDedicatedAllocation = dedicated->prefersDedicatedAllocation = VK_TRUE;
}

VKAPI_ATTR VkResult VKAPI_CALL bindBuffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                          VkDeviceSize offset) {
  return pass<PFN_vkBindBufferMemory>(device, "vkBindBufferMemory", device, buffer, memory, offset);
}

VKAPI_ATTR VkResult VKAPI_CALL mapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                         VkDeviceSize size, VkMemoryMapFlags flags, void** mapped) {
  return pass<PFN_vkMapMemory>(device, "vkMapMemory", device, memory, offset, size, flags, mapped);
}

VKAPI_ATTR VkResult VKAPI_CALL createPool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                          const VkAllocationCallbacks* callbacks, VkCommandPool* pool) {
  const VkResult result =
      pass<PFN_vkCreateCommandPool>(device, "vkCreateCommandPool", device, info, callbacks, pool);
  note("command pools", result == VK_SUCCESS ? 1 : 0);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroyPool(VkDevice device, VkCommandPool pool,
                                       const VkAllocationCallbacks* callbacks) {
  below<PFN_vkDestroyCommandPool>(deviceOf(device), "vkDestroyCommandPool")(device, pool, callbacks);
  note("command pools", pool ? -1 : 0);
}

VKAPI_ATTR VkResult VKAPI_CALL allocateCommands(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                                VkCommandBuffer* commands) {
  return pass<PFN_vkAllocateCommandBuffers>(device, "vkAllocateCommandBuffers", device, info, commands);
}

VKAPI_ATTR VkResult VKAPI_CALL beginCommands(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  return pass<PFN_vkBeginCommandBuffer>(commands, "vkBeginCommandBuffer", commands, info);
}

VKAPI_ATTR VkResult VKAPI_CALL endCommands(VkCommandBuffer commands) {
  return pass<PFN_vkEndCommandBuffer>(commands, "vkEndCommandBuffer", commands);
}

VKAPI_ATTR VkResult VKAPI_CALL createFence(VkDevice device, const VkFenceCreateInfo* info,
                                           const VkAllocationCallbacks* callbacks, VkFence* fence) {
  const VkResult result = pass<PFN_vkCreateFence>(device, "vkCreateFence", device, info, callbacks, fence);
  note("fences", result == VK_SUCCESS ? 1 : 0);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroyFence(VkDevice device, VkFence fence,
                                        const VkAllocationCallbacks* callbacks) {
  below<PFN_vkDestroyFence>(deviceOf(device), "vkDestroyFence")(device, fence, callbacks);
  note("fences", fence ? -1 : 0);
}

VKAPI_ATTR VkResult VKAPI_CALL resetFences(VkDevice device, std::uint32_t count, const VkFence* fences) {
  return pass<PFN_vkResetFences>(device, "vkResetFences", device, count, fences);
}

VKAPI_ATTR VkResult VKAPI_CALL waitFences(VkDevice device, std::uint32_t count, const VkFence* fences,
                                          VkBool32 all, std::uint64_t timeout) {
  return pass<PFN_vkWaitForFences>(device, "vkWaitForFences", device, count, fences, all, timeout);
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                                      VkFence fence) {
  return pass<PFN_vkQueueSubmit>(queue, "vkQueueSubmit", queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL waitIdle(VkQueue queue) {
  return pass<PFN_vkQueueWaitIdle>(queue, "vkQueueWaitIdle", queue);
}

struct Entry {
  std::string_view name;
  PFN_vkVoidFunction function;
};

template <class Function>
Entry entry(std::string_view name, Function function) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

auto& functions() {
  static const std::array all{entry("vkDestroyDevice", &destroyDevice),
                              entry("vkCreateBuffer", &createBuffer),
                              entry("vkDestroyBuffer", &destroyBuffer),
                              entry("vkGetBufferMemoryRequirements", &getRequirements),
                              entry("vkGetBufferMemoryRequirements2", &getRequirements2),
                              entry("vkGetBufferMemoryRequirements2KHR", &getRequirements2),
                              entry("vkAllocateMemory", &allocateMemory),
                              entry("vkFreeMemory", &freeMemory),
                              entry("vkGetMemoryRemoteAddressNV", &getRemoteAddress),
                              entry("vkGetMemoryFdKHR", &getMemoryFd),
                              entry("vkGetMemoryFdPropertiesKHR", &getMemoryFdProperties),
                              entry("vkBindBufferMemory", &bindBuffer),
                              entry("vkMapMemory", &mapMemory),
                              entry("vkCreateCommandPool", &createPool),
                              entry("vkDestroyCommandPool", &destroyPool),
                              entry("vkAllocateCommandBuffers", &allocateCommands),
                              entry("vkBeginCommandBuffer", &beginCommands),
                              entry("vkEndCommandBuffer", &endCommands),
                              entry("vkCreateFence", &createFence),
                              entry("vkDestroyFence", &destroyFence),
                              entry("vkResetFences", &resetFences),
                              entry("vkWaitForFences", &waitFences),
                              entry("vkQueueSubmit", &submit),
                              entry("vkQueueWaitIdle", &waitIdle)};
  return all;
}

} // namespace

PFN_vkVoidFunction deviceFunction(const char* name) {
  const auto found = std::ranges::find(functions(), std::string_view{name}, &Entry::name);
  return found == functions().end() ? nullptr : found->function;
}

std::vector<std::string> deviceFunctionNames() {
  std::vector<std::string> names;
  for(const Entry& one : functions())
    names.emplace_back(one.name);
  return names;
}

} // namespace rdmagpu::standin::vulkan
