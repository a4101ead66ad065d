#pragma once
#include <driver/fn.hpp>
#include <rdmagpu/error.hpp>

#include <vulkan/vulkan_core.h>

#include <cstdint>

/// Vulkan as far as it is used here: the types are Khronos', the functions are looked up in the loader, in an
/// instance and in a device. No decisions.
namespace rdmagpu::driver::vulkan {

/// VkResult. Those that code here looks at; any other value may come too.
enum class Status : std::int32_t {
  Success = VK_SUCCESS,
  Incomplete = VK_INCOMPLETE,
  InitializationFailed = VK_ERROR_INITIALIZATION_FAILED,
  FeatureNotPresent = VK_ERROR_FEATURE_NOT_PRESENT,
};

constexpr Status notAvailable(Status) noexcept { return Status::FeatureNotPresent; }

using Callbacks = const VkAllocationCallbacks*;

/// Makes a failure an Error that names the call. `bytes` is the size it was asked for.
Error failure(const char* symbol, Status, std::uint64_t bytes) noexcept;

/// Calls a function that has a status.
template <class Function, class... Args>
Result<void> call(std::uint64_t bytes, const Function& function, Args... args) noexcept {
  const Status status = function(args...);
  if(status == Status::Success)
    return {};
  return failure(function.symbol(), status, bytes);
}

/// What the loader itself has, before there is an instance.
struct LoaderFunctions {
  explicit LoaderFunctions(SymbolSource& source) noexcept : load(source) {}

  Loader load;

  // clang-format off
  Fn<"vkGetInstanceProcAddr", PFN_vkVoidFunction(VkInstance, const char*)> getInstanceProcAddr{load};
  Fn<"vkEnumerateInstanceVersion", Status(std::uint32_t*)> enumerateInstanceVersion{load}; // Vulkan 1.1
  Fn<"vkCreateInstance", Status(const VkInstanceCreateInfo*, Callbacks, VkInstance*)> createInstance{load};
  // clang-format on
};

struct InstanceFunctions {
  explicit InstanceFunctions(SymbolSource& source) noexcept : load(source) {}

  Loader load;

  // clang-format off
  Fn<"vkDestroyInstance", void(VkInstance, Callbacks)> destroyInstance{load};
  Fn<"vkEnumeratePhysicalDevices", Status(VkInstance, std::uint32_t*, VkPhysicalDevice*)> enumeratePhysicalDevices{load};
  Fn<"vkEnumerateDeviceExtensionProperties", Status(VkPhysicalDevice, const char*, std::uint32_t*, VkExtensionProperties*)> enumerateDeviceExtensionProperties{load};
  Fn<"vkGetPhysicalDeviceProperties", void(VkPhysicalDevice, VkPhysicalDeviceProperties*)> getPhysicalDeviceProperties{load};
  Fn<"vkGetPhysicalDeviceProperties2", void(VkPhysicalDevice, VkPhysicalDeviceProperties2*)> getPhysicalDeviceProperties2{load};
  Fn<"vkGetPhysicalDeviceFeatures2", void(VkPhysicalDevice, VkPhysicalDeviceFeatures2*)> getPhysicalDeviceFeatures2{load};
  Fn<"vkGetPhysicalDeviceMemoryProperties2", void(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2*)> getPhysicalDeviceMemoryProperties2{load};
  Fn<"vkGetPhysicalDeviceQueueFamilyProperties", void(VkPhysicalDevice, std::uint32_t*, VkQueueFamilyProperties*)> getPhysicalDeviceQueueFamilyProperties{load};
  Fn<"vkGetPhysicalDeviceExternalBufferProperties", void(VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo*, VkExternalBufferProperties*)> getPhysicalDeviceExternalBufferProperties{load};
  Fn<"vkCreateDevice", Status(VkPhysicalDevice, const VkDeviceCreateInfo*, Callbacks, VkDevice*)> createDevice{load};
  Fn<"vkGetDeviceProcAddr", PFN_vkVoidFunction(VkDevice, const char*)> getDeviceProcAddr{load};
  // clang-format on
};

struct DeviceFunctions {
  explicit DeviceFunctions(SymbolSource& source) noexcept : load(source) {}

  Loader load;

  // clang-format off
  Fn<"vkDestroyDevice", void(VkDevice, Callbacks)> destroyDevice{load};
  Fn<"vkGetDeviceQueue", void(VkDevice, std::uint32_t, std::uint32_t, VkQueue*)> getDeviceQueue{load};
  Fn<"vkCreateBuffer", Status(VkDevice, const VkBufferCreateInfo*, Callbacks, VkBuffer*)> createBuffer{load};
  Fn<"vkDestroyBuffer", void(VkDevice, VkBuffer, Callbacks)> destroyBuffer{load};
  Fn<"vkGetBufferMemoryRequirements2", void(VkDevice, const VkBufferMemoryRequirementsInfo2*, VkMemoryRequirements2*)> getBufferMemoryRequirements2{load};
  Fn<"vkAllocateMemory", Status(VkDevice, const VkMemoryAllocateInfo*, Callbacks, VkDeviceMemory*)> allocateMemory{load};
  Fn<"vkFreeMemory", void(VkDevice, VkDeviceMemory, Callbacks)> freeMemory{load};
  Fn<"vkBindBufferMemory", Status(VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize)> bindBufferMemory{load};
  Fn<"vkMapMemory", Status(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void**)> mapMemory{load};
  Fn<"vkGetMemoryRemoteAddressNV", Status(VkDevice, const VkMemoryGetRemoteAddressInfoNV*, VkRemoteAddressNV*), Need::Optional> getMemoryRemoteAddress{load};
  Fn<"vkGetMemoryFdKHR", Status(VkDevice, const VkMemoryGetFdInfoKHR*, int*), Need::Optional> getMemoryFd{load};
  Fn<"vkGetMemoryFdPropertiesKHR", Status(VkDevice, VkExternalMemoryHandleTypeFlagBits, int, VkMemoryFdPropertiesKHR*), Need::Optional> getMemoryFdProperties{load};

  Fn<"vkCreateCommandPool", Status(VkDevice, const VkCommandPoolCreateInfo*, Callbacks, VkCommandPool*)> createCommandPool{load};
  Fn<"vkDestroyCommandPool", void(VkDevice, VkCommandPool, Callbacks)> destroyCommandPool{load};
  Fn<"vkAllocateCommandBuffers", Status(VkDevice, const VkCommandBufferAllocateInfo*, VkCommandBuffer*)> allocateCommandBuffers{load};
  Fn<"vkBeginCommandBuffer", Status(VkCommandBuffer, const VkCommandBufferBeginInfo*)> beginCommandBuffer{load};
  Fn<"vkEndCommandBuffer", Status(VkCommandBuffer)> endCommandBuffer{load};
  Fn<"vkCmdPipelineBarrier", void(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags, std::uint32_t, const VkMemoryBarrier*, std::uint32_t, const VkBufferMemoryBarrier*, std::uint32_t, const VkImageMemoryBarrier*)> cmdPipelineBarrier{load};
  Fn<"vkCmdCopyBuffer", void(VkCommandBuffer, VkBuffer, VkBuffer, std::uint32_t, const VkBufferCopy*)> cmdCopyBuffer{load};
  Fn<"vkCmdFillBuffer", void(VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, std::uint32_t)> cmdFillBuffer{load};
  Fn<"vkCreateFence", Status(VkDevice, const VkFenceCreateInfo*, Callbacks, VkFence*)> createFence{load};
  Fn<"vkDestroyFence", void(VkDevice, VkFence, Callbacks)> destroyFence{load};
  Fn<"vkResetFences", Status(VkDevice, std::uint32_t, const VkFence*)> resetFences{load};
  Fn<"vkWaitForFences", Status(VkDevice, std::uint32_t, const VkFence*, VkBool32, std::uint64_t)> waitForFences{load};
  Fn<"vkQueueSubmit", Status(VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence)> queueSubmit{load};
  Fn<"vkQueueWaitIdle", Status(VkQueue)> queueWaitIdle{load};
  // clang-format on
};

} // namespace rdmagpu::driver::vulkan
