#pragma once
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

/// A software device: a Vulkan layer that adds VK_NV_external_memory_rdma, VK_EXT_memory_budget and
/// VK_EXT_pci_bus_info to a driver that runs on the CPU, as lavapipe does. Memory that is allocated with a
/// remote address is the process's own, and the address is the CPU's: whoever knows it can read and write it
/// as a peer would. As strict as the specification: what it takes back must be its own, and what was not
/// enabled is refused.
///
/// Besides the layer's entry point it exports the rdmagpu_standin_vulkan_* of control.cpp.
namespace rdmagpu::standin::vulkan {

#define RDMAGPU_STANDIN_API extern "C" __attribute__((visibility("default")))

/// Of the memory that peers reach.
std::uint64_t heapBytes();

/// An instance, and the functions of what is below this layer. They are looked up while it is created: later
/// the loader answers from the top of the chain, which leads back here.
struct Instance {
  VkInstance handle{};
  PFN_vkGetInstanceProcAddr next{};
  PFN_vkDestroyInstance destroyInstance{};
  PFN_vkEnumeratePhysicalDevices enumeratePhysicalDevices{};
  PFN_vkEnumerateDeviceExtensionProperties enumerateDeviceExtensionProperties{};
  PFN_vkGetPhysicalDeviceProperties getProperties{};
  PFN_vkGetPhysicalDeviceProperties2 getProperties2{};
  PFN_vkGetPhysicalDeviceFeatures2 getFeatures2{};
  PFN_vkGetPhysicalDeviceMemoryProperties getMemoryProperties{};
  PFN_vkGetPhysicalDeviceMemoryProperties2 getMemoryProperties2{};
  PFN_vkGetPhysicalDeviceExternalBufferProperties getExternalBufferProperties{};
  PFN_vkCreateDevice createDevice{};
};

struct Device {
  VkDevice handle{};
  PFN_vkGetDeviceProcAddr next{};
  /// Of what is below, those that this layer has, too. Looked up while the device is created, as the loader
  /// does not lock what it goes through for that.
  std::map<std::string, PFN_vkVoidFunction, std::less<>> below{};
  bool rdma{};               ///< The extension and its feature were enabled.
  std::uint32_t hostType{};  ///< What is behind the type of memory that this layer adds.
  std::uint32_t addedType{}; ///< UINT32_MAX: none.
};

/// Memory with a remote address.
struct Memory {
  void* bytes{};
  std::uint64_t size{};
};

struct State {
  std::mutex mutex;
  std::map<void*, Instance> instances; ///< By the key that its objects share.
  std::map<void*, Device> devices;
  std::map<VkDeviceMemory, Memory> memories;
  std::uint64_t used{}; ///< Of heapBytes().
  std::map<std::string, long> objects;
  std::map<std::string, int> calls;
  int callsUntilFailure{};
  std::string failedCall;
  std::string failName;
  VkResult failResult{};
  std::string mode;
  VkBufferUsageFlags lastUsage{}; ///< Of the last buffer whose memory peers reach.
};
State& state();

/// What a handle's objects share: the loader's own table.
inline void* keyOf(const void* dispatchable) { return *static_cast<void* const*>(dispatchable); }
Instance instanceOf(const void* dispatchable);
const Device& deviceOf(const void* dispatchable);
bool isMode(const char* name);

/// Counts a call, and what it is made to fail with.
std::optional<VkResult> fault(const char* name);
/// Counts objects of a kind.
void note(const char* kind, int change);

template <class Function>
Function below(const Device& device, const char* name) {
  return reinterpret_cast<Function>(device.below.at(name));
}

/// Takes what the layer below is called by, and moves the loader's link on to the one below that.
template <class Link>
const Link* linkIn(const void* chain, VkStructureType type) {
  for(const auto* item = static_cast<const VkBaseInStructure*>(chain); item; item = item->pNext) {
    const auto* link = reinterpret_cast<const Link*>(item);
    if(item->sType == type && link->function == VK_LAYER_LINK_INFO)
      return link;
  }
  return nullptr;
}

template <class Struct>
Struct* findIn(const void* chain, VkStructureType type) {
  for(auto* item = static_cast<VkBaseOutStructure*>(const_cast<void*>(chain)); item; item = item->pNext) {
    if(item->sType == type)
      return reinterpret_cast<Struct*>(item);
  }
  return nullptr;
}

/// Adds the type of memory that peers reach, and its heap, if this mode has them.
void addMemory(VkPhysicalDeviceMemoryProperties&, Device* = nullptr);

/// The functions that this layer has of its own; null for others.
PFN_vkVoidFunction instanceFunction(const char* name);
PFN_vkVoidFunction deviceFunction(const char* name);
/// Their names.
std::vector<std::string> deviceFunctionNames();

} // namespace rdmagpu::standin::vulkan
