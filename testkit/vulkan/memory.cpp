#include <vulkan/layer.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>

namespace rdmagpu::standin::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlags address = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
constexpr VkExternalMemoryHandleTypeFlagBits dmaBuf = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
constexpr std::size_t page = 64 * 1024;

void check(bool right, const char* rule) {
  if(right)
    return;
  std::fprintf(stderr, "stand-in Vulkan: %s\n", rule);
  std::abort();
}

/// Whatever lay there before, and not zeros.
Memory takeBytes(std::uint64_t bytes) {
  const std::uint64_t size = (bytes + page - 1) / page * page;
  void* const taken = std::aligned_alloc(page, size + page);
  if(!taken)
    std::abort();
  std::memset(taken, 0xA5, size + page);
  return {.bytes = taken, .size = size};
}

/// What other processes can have, too.
Memory takeShared(std::uint64_t bytes) {
  const std::uint64_t size = (bytes + page - 1) / page * page;
  const int fd = memfd_create("rdmagpu-vulkan", MFD_CLOEXEC);
  if(fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0)
    std::abort();
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if(mapped == MAP_FAILED)
    std::abort();
  std::memset(mapped, 0xA5, size);
  return {.bytes = mapped, .size = size, .fd = fd};
}

/// Takes the descriptor over, if it is of such memory and large enough.
Memory import(int fd, std::uint64_t bytes) {
  struct stat file {};
  if(fstat(fd, &file) != 0 || static_cast<std::uint64_t>(file.st_size) < bytes)
    return {};
  const auto size = static_cast<std::uint64_t>(file.st_size);
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if(mapped == MAP_FAILED)
    return {};
  return {.bytes = mapped, .size = size, .fd = fd, .imported = true};
}

void giveBack(const Memory& memory) {
  if(memory.fd < 0) {
    std::free(memory.bytes);
    return;
  }
  munmap(memory.bytes, memory.size);
  close(memory.fd);
}

void* addressOf(const Memory& memory) {
  return static_cast<std::byte*>(memory.bytes) + (memory.fd < 0 && isMode("unaligned") ? 4096 : 0);
}

Memory find(VkDeviceMemory handle) {
  const std::lock_guard lock{state().mutex};
  const auto found = state().memories.find(handle);
  return found == state().memories.end() ? Memory{} : found->second;
}

/// Has the layer below take the bytes for its own memory.
VkResult allocateOver(const Memory& memory, VkDevice handle, const Device& device,
                      const VkAllocationCallbacks* callbacks, VkDeviceMemory* made) {
  VkImportMemoryHostPointerInfoEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  pointer.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  pointer.pHostPointer = addressOf(memory);
  VkMemoryAllocateInfo changed{};
  changed.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  changed.pNext = &pointer;
  changed.allocationSize = memory.size;
  changed.memoryTypeIndex = device.hostType;
  const VkResult result =
      below<PFN_vkAllocateMemory>(device, "vkAllocateMemory")(handle, &changed, callbacks, made);
  if(result != VK_SUCCESS)
    return result;
  const std::lock_guard lock{state().mutex};
  state().used += memory.fd < 0 ? memory.size : 0;
  state().memories[*made] = memory;
  return VK_SUCCESS;
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
  const VkResult result = allocateOver(memory, handle, device, callbacks, made);
  if(result != VK_SUCCESS)
    giveBack(memory);
  return result;
}

VkResult allocateShared(VkDevice handle, const Device& device, const VkMemoryAllocateInfo& info,
                        const VkImportMemoryFdInfoKHR* imported, const VkAllocationCallbacks* callbacks,
                        VkDeviceMemory* made) {
  const bool dedicated = findIn<VkMemoryDedicatedAllocateInfo>(
                             info.pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO) != nullptr;
  check(device.dmaBuf, "vkAllocateMemory: a dma-buf needs VK_EXT_external_memory_dma_buf");
  check(dedicated || (!isMode("dedicated") && !isMode("dedicated-only")),
        "vkAllocateMemory: this memory must be dedicated");
  const Memory memory =
      imported ? import(imported->fd, info.allocationSize) : takeShared(info.allocationSize);
  if(!memory.bytes)
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  const VkResult result = allocateOver(memory, handle, device, callbacks, made);
  if(result != VK_SUCCESS && imported)
    munmap(memory.bytes, memory.size); // the descriptor stays the caller's
  else if(result != VK_SUCCESS)
    giveBack(memory);
  return result;
}

/// The descriptor must be of all memory of the first GPU's that the stand-in of CUDA's driver gave it of.
VkResult importCuda(VkDevice handle, const Device& device, const VkMemoryAllocateInfo& info, int fd,
                    const VkAllocationCallbacks* callbacks, VkDeviceMemory* made) {
  char link[64];
  char target[128]{};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const bool known = readlink(link, target, sizeof target - 1) > 0 &&
                     std::string_view{target}.starts_with("/memfd:rdmagpu-standin-cuda-0-");
  const Memory memory = known ? import(fd, info.allocationSize) : Memory{};
  if(!memory.bytes)
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  const VkResult result = memory.size == info.allocationSize
                              ? allocateOver(memory, handle, device, callbacks, made)
                              : VK_ERROR_INVALID_EXTERNAL_HANDLE;
  if(result != VK_SUCCESS)
    munmap(memory.bytes, memory.size); // the descriptor stays the caller's
  return result;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL allocateMemory(VkDevice handle, const VkMemoryAllocateInfo* info,
                                              const VkAllocationCallbacks* callbacks, VkDeviceMemory* made) {
  if(const auto failed = fault("vkAllocateMemory"))
    return *failed;
  const Device& device = deviceOf(handle);
  const auto* exported =
      findIn<VkExportMemoryAllocateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  const auto* imported =
      findIn<VkImportMemoryFdInfoKHR>(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
  const bool importsDmaBuf = imported && imported->handleType == dmaBuf;
  const bool exportsAddress = exported && (exported->handleTypes & address) != 0;
  const bool exportsDmaBuf = exported && (exported->handleTypes & dmaBuf) != 0;
  const bool added = info->memoryTypeIndex == device.addedType;
  check(!exportsAddress || (device.rdma && added),
        "vkAllocateMemory: a remote address needs the extension, its feature and RDMA_CAPABLE memory");
  check(!importsDmaBuf || !exportsDmaBuf, "vkAllocateMemory: what is imported is exported again");
  VkResult result{};
  if(imported && !importsDmaBuf) {
    result = importCuda(handle, device, *info, imported->fd, callbacks, made);
  } else if(exportsAddress) {
    result = allocateReachable(handle, device, *info, callbacks, made);
  } else if(importsDmaBuf || exportsDmaBuf) {
    result = allocateShared(handle, device, *info, importsDmaBuf ? imported : nullptr, callbacks, made);
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
  const Memory known = find(memory);
  if(known.bytes) { // before another thread can have the handle anew
    const std::lock_guard lock{state().mutex};
    state().used -= known.fd < 0 ? known.size : 0;
    state().memories.erase(memory);
  }
  below<PFN_vkFreeMemory>(deviceOf(device), "vkFreeMemory")(device, memory, callbacks);
  note("allocations", memory ? -1 : 0);
  if(known.bytes)
    giveBack(known);
}

VKAPI_ATTR VkResult VKAPI_CALL getRemoteAddress(VkDevice, const VkMemoryGetRemoteAddressInfoNV* info,
                                                VkRemoteAddressNV* remote) {
  if(const auto failed = fault("vkGetMemoryRemoteAddressNV"))
    return *failed;
  if(isMode("null-address")) {
    *remote = nullptr;
    return VK_SUCCESS;
  }
  const Memory memory = find(info->memory);
  if(!memory.bytes || memory.fd >= 0 || info->handleType != address || isMode("no-address"))
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  *remote = addressOf(memory);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL getMemoryFd(VkDevice device, const VkMemoryGetFdInfoKHR* info, int* fd) {
  if(const auto failed = fault("vkGetMemoryFdKHR"))
    return *failed;
  if(info->handleType != dmaBuf)
    return below<PFN_vkGetMemoryFdKHR>(deviceOf(device), "vkGetMemoryFdKHR")(device, info, fd);
  const Memory memory = find(info->memory);
  check(memory.fd >= 0 && !memory.imported, "vkGetMemoryFdKHR: the memory was not allocated for that");
  *fd = fcntl(memory.fd, F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? VK_ERROR_TOO_MANY_OBJECTS : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL getMemoryFdProperties(VkDevice device, VkExternalMemoryHandleTypeFlagBits type,
                                                     int fd, VkMemoryFdPropertiesKHR* properties) {
  if(const auto failed = fault("vkGetMemoryFdPropertiesKHR"))
    return *failed;
  const Device& known = deviceOf(device);
  if(type != dmaBuf)
    return below<PFN_vkGetMemoryFdPropertiesKHR>(known, "vkGetMemoryFdPropertiesKHR")(device, type, fd,
                                                                                      properties);
  properties->memoryTypeBits = isMode("no-import") ? 0 : 1U << known.hostType;
  return VK_SUCCESS;
}

} // namespace rdmagpu::standin::vulkan
