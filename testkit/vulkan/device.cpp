#include <vulkan/layer.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace rdmagpu::standin::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlags address = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
constexpr std::size_t page = 64 * 1024;

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
  if(external && (external->handleTypes & address) != 0) {
    changed.pNext = &host;
    const std::lock_guard lock{state().mutex};
    state().lastUsage = info->usage;
  }
  const VkBufferCreateInfo* const asked = &changed;
  const VkResult result =
      pass<PFN_vkCreateBuffer>(device, "vkCreateBuffer", device, asked, callbacks, buffer);
  note("buffers", result == VK_SUCCESS ? 1 : 0);
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroyBuffer(VkDevice device, VkBuffer buffer,
                                         const VkAllocationCallbacks* callbacks) {
  below<PFN_vkDestroyBuffer>(deviceOf(device), "vkDestroyBuffer")(device, buffer, callbacks);
  note("buffers", buffer ? -1 : 0);
}

void addType(const Device& device, VkMemoryRequirements& requirements) {
  if(device.addedType != UINT32_MAX && (requirements.memoryTypeBits >> device.hostType & 1U) != 0 &&
     !isMode("memory-not-for-buffers"))
    requirements.memoryTypeBits |= 1U << device.addedType;
}

VKAPI_ATTR void VKAPI_CALL getRequirements(VkDevice device, VkBuffer buffer,
                                           VkMemoryRequirements* requirements) {
  const Device& known = deviceOf(device);
  below<PFN_vkGetBufferMemoryRequirements>(known, "vkGetBufferMemoryRequirements")(device, buffer,
                                                                                   requirements);
  addType(known, *requirements);
}

VKAPI_ATTR void VKAPI_CALL getRequirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2* info,
                                            VkMemoryRequirements2* requirements) {
  const Device& known = deviceOf(device);
  below<PFN_vkGetBufferMemoryRequirements2>(known, "vkGetBufferMemoryRequirements2")(device, info,
                                                                                     requirements);
  addType(known, requirements->memoryRequirements);
}

/// Whatever lay there before, and not zeros.
Memory takeBytes(std::uint64_t bytes) {
  const std::uint64_t size = (bytes + page - 1) / page * page;
  void* const taken = std::aligned_alloc(page, size + page);
  if(!taken)
    std::abort();
  std::memset(taken, 0xA5, size + page);
  return {taken, size};
}

void* addressOf(const Memory& memory) {
  return static_cast<std::byte*>(memory.bytes) + (isMode("unaligned") ? 4096 : 0);
}

VkResult allocateReachable(VkDevice handle, const Device& device, const VkMemoryAllocateInfo& info,
                           const VkAllocationCallbacks* callbacks, VkDeviceMemory* made) {
  const std::uint64_t all = heapBytes();
  {
    const std::lock_guard lock{state().mutex};
    if(info.allocationSize > all - state().used)
      return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  const Memory memory = takeBytes(info.allocationSize);
  VkImportMemoryHostPointerInfoEXT import{};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  import.pHostPointer = addressOf(memory);
  VkMemoryAllocateInfo changed{};
  changed.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  changed.pNext = &import;
  changed.allocationSize = memory.size;
  changed.memoryTypeIndex = device.hostType;
  const VkResult result =
      below<PFN_vkAllocateMemory>(device, "vkAllocateMemory")(handle, &changed, callbacks, made);
  if(result != VK_SUCCESS) {
    std::free(memory.bytes);
    return result;
  }
  const std::lock_guard lock{state().mutex};
  state().used += memory.size;
  state().memories[*made] = memory;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL allocateMemory(VkDevice handle, const VkMemoryAllocateInfo* info,
                                              const VkAllocationCallbacks* callbacks, VkDeviceMemory* made) {
  if(const auto failed = fault("vkAllocateMemory"))
    return *failed;
  const Device& device = deviceOf(handle);
  const auto* exported =
      findIn<VkExportMemoryAllocateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  const bool wanted = exported && (exported->handleTypes & address) != 0;
  const bool added = info->memoryTypeIndex == device.addedType;
  if(wanted && (!device.rdma || !added)) {
    std::fputs("stand-in Vulkan: vkAllocateMemory: a remote address needs the extension, its feature and "
               "RDMA_CAPABLE memory\n",
               stderr);
    std::abort();
  }
  VkResult result{};
  if(wanted) {
    result = allocateReachable(handle, device, *info, callbacks, made);
  } else {
    VkMemoryAllocateInfo changed = *info;
    changed.memoryTypeIndex = added ? device.hostType : info->memoryTypeIndex;
    result = below<PFN_vkAllocateMemory>(device, "vkAllocateMemory")(handle, &changed, callbacks, made);
  }
  note("allocations", result == VK_SUCCESS ? 1 : 0);
  return result;
}

VKAPI_ATTR void VKAPI_CALL freeMemory(VkDevice device, VkDeviceMemory memory,
                                      const VkAllocationCallbacks* callbacks) {
  below<PFN_vkFreeMemory>(deviceOf(device), "vkFreeMemory")(device, memory, callbacks);
  note("allocations", memory ? -1 : 0);
  const std::lock_guard lock{state().mutex};
  const auto found = state().memories.find(memory);
  if(found == state().memories.end())
    return;
  state().used -= found->second.size;
  std::free(found->second.bytes);
  state().memories.erase(found);
}

VKAPI_ATTR VkResult VKAPI_CALL getRemoteAddress(VkDevice, const VkMemoryGetRemoteAddressInfoNV* info,
                                                VkRemoteAddressNV* remote) {
  if(const auto failed = fault("vkGetMemoryRemoteAddressNV"))
    return *failed;
  if(isMode("null-address")) {
    *remote = nullptr;
    return VK_SUCCESS;
  }
  Memory memory{};
  {
    const std::lock_guard lock{state().mutex};
    const auto found = state().memories.find(info->memory);
    if(found != state().memories.end())
      memory = found->second;
  }
  if(!memory.bytes || info->handleType != address || isMode("no-address"))
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  *remote = addressOf(memory);
  return VK_SUCCESS;
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
