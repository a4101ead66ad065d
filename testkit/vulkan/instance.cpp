#include <vulkan/layer.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace rdmagpu::standin::vulkan {
namespace {

constexpr int cudaUuidByte = 0xA0; ///< Of the first GPU of the stand-in of CUDA's driver.
constexpr const char* layerName = "VK_LAYER_RDMAGPU_software";

std::vector<std::string_view> addedExtensions() {
  std::vector<std::string_view> added{VK_EXT_PCI_BUS_INFO_EXTENSION_NAME};
  if(!isMode("no-extension"))
    added.emplace_back(VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME);
  if(!isMode("no-dma-buf"))
    added.emplace_back(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
  if(!isMode("no-budget"))
    added.emplace_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  return added;
}

VKAPI_ATTR VkResult VKAPI_CALL createInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* callbacks, VkInstance* made) {
  const auto* link =
      linkIn<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if(!link)
    return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const_cast<VkLayerInstanceCreateInfo*>(link)->u.pLayerInfo = link->u.pLayerInfo->pNext;
  if(const auto failed = fault("vkCreateInstance"))
    return *failed;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(next(nullptr, "vkCreateInstance"));
  if(const VkResult result = create(info, callbacks, made); result != VK_SUCCESS)
    return result;
  Instance instance{.handle = *made, .next = next};
  const auto look = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(next(*made, name));
  };
  look("vkDestroyInstance", instance.destroyInstance);
  look("vkEnumeratePhysicalDevices", instance.enumeratePhysicalDevices);
  look("vkEnumerateDeviceExtensionProperties", instance.enumerateDeviceExtensionProperties);
  look("vkGetPhysicalDeviceProperties", instance.getProperties);
  look("vkGetPhysicalDeviceProperties2", instance.getProperties2);
  look("vkGetPhysicalDeviceFeatures2", instance.getFeatures2);
  look("vkGetPhysicalDeviceMemoryProperties", instance.getMemoryProperties);
  look("vkGetPhysicalDeviceMemoryProperties2", instance.getMemoryProperties2);
  look("vkGetPhysicalDeviceExternalBufferProperties", instance.getExternalBufferProperties);
  look("vkCreateDevice", instance.createDevice);
  note("instances", 1);
  const std::lock_guard lock{state().mutex};
  state().instances[keyOf(*made)] = instance;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroyInstance(VkInstance instance, const VkAllocationCallbacks* callbacks) {
  if(!instance)
    return;
  const Instance known = instanceOf(instance);
  void* const key = keyOf(instance);
  known.destroyInstance(instance, callbacks);
  note("instances", -1);
  const std::lock_guard lock{state().mutex};
  state().instances.erase(key);
}

VKAPI_ATTR VkResult VKAPI_CALL enumeratePhysicalDevices(VkInstance instance, std::uint32_t* count,
                                                        VkPhysicalDevice* devices) {
  if(const auto failed = fault("vkEnumeratePhysicalDevices"))
    return *failed;
  if(isMode("no-device")) {
    *count = 0;
    return VK_SUCCESS;
  }
  return instanceOf(instance).enumeratePhysicalDevices(instance, count, devices);
}

VkResult give(const std::vector<VkExtensionProperties>& all, std::uint32_t* count,
              VkExtensionProperties* properties) {
  const auto size = static_cast<std::uint32_t>(all.size());
  if(!properties) {
    *count = size;
    return VK_SUCCESS;
  }
  *count = std::min(*count, size);
  std::copy_n(all.begin(), *count, properties);
  return *count < size ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerateExtensions(VkPhysicalDevice device, const char* layer,
                                                   std::uint32_t* count, VkExtensionProperties* properties) {
  const Instance instance = instanceOf(device);
  if(layer && std::strcmp(layer, layerName) != 0)
    return instance.enumerateDeviceExtensionProperties(device, layer, count, properties);
  if(const auto failed = fault("vkEnumerateDeviceExtensionProperties"))
    return *failed;
  std::vector<VkExtensionProperties> all;
  if(!layer) {
    std::uint32_t found{};
    instance.enumerateDeviceExtensionProperties(device, nullptr, &found, nullptr);
    all.resize(found);
    instance.enumerateDeviceExtensionProperties(device, nullptr, &found, all.data());
    all.resize(found);
  }
  std::erase_if(all, [](const VkExtensionProperties& e) {
    const std::string_view name = e.extensionName;
    return (isMode("no-memory-fd") && name == VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME) ||
           (isMode("no-dma-buf") && name == VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
  });
  for(const std::string_view name : addedExtensions()) {
    if(std::ranges::any_of(all, [&](const VkExtensionProperties& e) { return e.extensionName == name; }))
      continue;
    VkExtensionProperties added{};
    name.copy(added.extensionName, sizeof added.extensionName - 1);
    added.specVersion = 1;
    all.push_back(added);
  }
  return give(all, count, properties);
}

void change(VkPhysicalDeviceProperties& properties) {
  std::strcpy(properties.deviceName, "rdmagpu software device (Vulkan)");
  if(isMode("vulkan-1.0"))
    properties.apiVersion = VK_API_VERSION_1_0;
  if(isMode("few-allocations"))
    properties.limits.maxMemoryAllocationCount = 5;
}

VKAPI_ATTR void VKAPI_CALL getProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  instanceOf(device).getProperties(device, properties);
  change(*properties);
}

VKAPI_ATTR void VKAPI_CALL getProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  instanceOf(device).getProperties2(device, properties);
  change(properties->properties);
  auto* id = findIn<VkPhysicalDeviceIDProperties>(properties->pNext,
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  if(id && !isMode("other-gpu"))
    std::memset(id->deviceUUID, cudaUuidByte, sizeof id->deviceUUID);
  auto* bus = findIn<VkPhysicalDevicePCIBusInfoPropertiesEXT>(
      properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  if(bus) {
    bus->pciDomain = 0;
    bus->pciBus = 0x65;
    bus->pciDevice = 0;
    bus->pciFunction = 0;
  }
}

VKAPI_ATTR void VKAPI_CALL getFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  instanceOf(device).getFeatures2(device, features);
  auto* rdma = findIn<VkPhysicalDeviceExternalMemoryRDMAFeaturesNV>(
      features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV);
  if(rdma)
    rdma->externalMemoryRDMA = !isMode("no-extension") && !isMode("no-feature");
}

VKAPI_ATTR void VKAPI_CALL getMemory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory) {
  instanceOf(device).getMemoryProperties(device, memory);
  addMemory(*memory);
}

VKAPI_ATTR void VKAPI_CALL getMemory2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* memory) {
  instanceOf(device).getMemoryProperties2(device, memory);
  addMemory(memory->memoryProperties);
  auto* budget = findIn<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
      memory->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  if(!budget)
    return;
  const std::lock_guard lock{state().mutex};
  for(std::uint32_t i = 0; i < memory->memoryProperties.memoryHeapCount; ++i) {
    budget->heapBudget[i] = memory->memoryProperties.memoryHeaps[i].size;
    budget->heapUsage[i] = i + 1 == memory->memoryProperties.memoryHeapCount ? state().used : 0;
  }
}

VkExternalMemoryProperties dmaBufProperties() {
  constexpr VkExternalMemoryHandleTypeFlags type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  VkExternalMemoryFeatureFlags features = 0;
  if(!isMode("no-import"))
    features |= VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
  if(!isMode("no-dma-buf-export"))
    features |= VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
  if(isMode("dedicated-only"))
    features |= VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
  return {features, type, type};
}

VKAPI_ATTR void VKAPI_CALL getExternalBuffer(VkPhysicalDevice device,
                                             const VkPhysicalDeviceExternalBufferInfo* info,
                                             VkExternalBufferProperties* properties) {
  if(info->handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT) {
    properties->externalMemoryProperties = dmaBufProperties();
    return;
  }
  if(info->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV) {
    instanceOf(device).getExternalBufferProperties(device, info, properties);
    if(info->handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT && isMode("no-fd-import"))
      properties->externalMemoryProperties = {};
    return;
  }
  const bool refused = isMode("no-vertex-export") && (info->usage & VK_BUFFER_USAGE_VERTEX_BUFFER_BIT) != 0;
  const bool has = !isMode("no-extension") && !isMode("no-export") && !refused;
  properties->externalMemoryProperties = {};
  if(has)
    properties->externalMemoryProperties = {VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, 0,
                                            VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
}

/// What is below knows nothing of this layer's extensions, and is asked for what makes them.
std::vector<const char*> extensionsBelow(const VkDeviceCreateInfo& info, Device& device) {
  std::vector<const char*> below{VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};
  for(std::uint32_t i = 0; i < info.enabledExtensionCount; ++i) {
    const std::string_view name = info.ppEnabledExtensionNames[i];
    device.rdma = device.rdma || name == VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME;
    device.dmaBuf = device.dmaBuf || name == VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME;
    const bool ours =
        name == VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME ||
        name == VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME || name == VK_EXT_MEMORY_BUDGET_EXTENSION_NAME ||
        name == VK_EXT_PCI_BUS_INFO_EXTENSION_NAME || name == VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    if(!ours)
      below.push_back(info.ppEnabledExtensionNames[i]);
  }
  return below;
}

/// Takes the feature's struct out of a chain for as long as this lives: chains are of structs whose sizes
/// nobody knows, so they cannot be copied.
class WithoutFeature {
public:
  explicit WithoutFeature(VkDeviceCreateInfo& info) {
    for(auto* at = reinterpret_cast<VkBaseOutStructure*>(&info); at->pNext; at = at->pNext) {
      if(at->pNext->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV)
        continue;
      m_before = at;
      m_taken = at->pNext;
      at->pNext = m_taken->pNext;
      return;
    }
  }
  ~WithoutFeature() {
    if(m_before)
      m_before->pNext = m_taken;
  }
  WithoutFeature(WithoutFeature&&) = delete;
  bool isOn() const {
    return m_taken &&
           reinterpret_cast<VkPhysicalDeviceExternalMemoryRDMAFeaturesNV*>(m_taken)->externalMemoryRDMA ==
               VK_TRUE;
  }

private:
  VkBaseOutStructure* m_before{};
  VkBaseOutStructure* m_taken{};
};

VKAPI_ATTR VkResult VKAPI_CALL createDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* callbacks, VkDevice* made) {
  const auto* link =
      linkIn<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if(!link)
    return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr nextInstance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  Device device{.next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr, .addedType = UINT32_MAX};
  const_cast<VkLayerDeviceCreateInfo*>(link)->u.pLayerInfo = link->u.pLayerInfo->pNext;
  if(const auto failed = fault("vkCreateDevice"))
    return *failed;
  const Instance instance = instanceOf(physical);
  VkDeviceCreateInfo changed = *info;
  const auto extensions = extensionsBelow(*info, device);
  changed.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  changed.ppEnabledExtensionNames = extensions.data();
  if(device.rdma && isMode("no-extension"))
    return VK_ERROR_EXTENSION_NOT_PRESENT;
  {
    const WithoutFeature feature{changed};
    if(feature.isOn() && isMode("no-feature"))
      return VK_ERROR_FEATURE_NOT_PRESENT;
    device.rdma = device.rdma && feature.isOn();
    const auto create = reinterpret_cast<PFN_vkCreateDevice>(nextInstance(instance.handle, "vkCreateDevice"));
    if(const VkResult result = create(physical, &changed, callbacks, made); result != VK_SUCCESS)
      return result;
  }
  device.handle = *made;
  for(const std::string& name : deviceFunctionNames())
    device.below.emplace(name, device.next(device.handle, name.c_str()));
  VkPhysicalDeviceMemoryProperties memory{};
  instance.getMemoryProperties(physical, &memory);
  addMemory(memory, &device);
  note("devices", 1);
  const std::lock_guard lock{state().mutex};
  state().devices[keyOf(*made)] = device;
  return VK_SUCCESS;
}

struct Entry {
  std::string_view name;
  PFN_vkVoidFunction function;
};

template <class Function>
Entry entry(std::string_view name, Function function) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device, const char* name) {
  if(const auto own = deviceFunction(name)) {
    const Device& known = deviceOf(device);
    const bool lacks = (std::strcmp(name, "vkGetMemoryRemoteAddressNV") == 0 && !known.rdma) ||
                       (std::string_view{name}.starts_with("vkGetMemoryFd") && !known.below.at(name));
    return lacks ? nullptr : own;
  }
  if(std::strcmp(name, "vkGetDeviceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(&getDeviceProcAddr);
  return deviceOf(device).next(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getInstanceProcAddr(VkInstance instance, const char* name) {
  if(const auto own = instanceFunction(name))
    return own;
  if(const auto own = deviceFunction(name))
    return own;
  return instance ? instanceOf(instance).next(instance, name) : nullptr;
}

} // namespace

std::uint64_t heapBytes() { return isMode("small-heap") ? 64U << 20 : 1U << 30; }

void addMemory(VkPhysicalDeviceMemoryProperties& memory, Device* device) {
  constexpr VkMemoryPropertyFlags host =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if(isMode("no-memory") || isMode("no-extension"))
    return;
  for(std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if((memory.memoryTypes[i].propertyFlags & host) != host)
      continue;
    if(device) {
      device->hostType = i;
      device->addedType = memory.memoryTypeCount;
    }
    // Not host-visible, so that mapping it is wrong and validation says so.
    memory.memoryTypes[memory.memoryTypeCount++] = {
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, memory.memoryHeapCount};
    memory.memoryHeaps[memory.memoryHeapCount++] = {heapBytes(), VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    return;
  }
}

PFN_vkVoidFunction instanceFunction(const char* name) {
  static const std::array functions{
      entry("vkGetInstanceProcAddr", &getInstanceProcAddr),
      entry("vkGetDeviceProcAddr", &getDeviceProcAddr),
      entry("vkCreateInstance", &createInstance),
      entry("vkDestroyInstance", &destroyInstance),
      entry("vkEnumeratePhysicalDevices", &enumeratePhysicalDevices),
      entry("vkEnumerateDeviceExtensionProperties", &enumerateExtensions),
      entry("vkGetPhysicalDeviceProperties", &getProperties),
      entry("vkGetPhysicalDeviceProperties2", &getProperties2),
      entry("vkGetPhysicalDeviceProperties2KHR", &getProperties2),
      entry("vkGetPhysicalDeviceFeatures2", &getFeatures2),
      entry("vkGetPhysicalDeviceFeatures2KHR", &getFeatures2),
      entry("vkGetPhysicalDeviceMemoryProperties", &getMemory),
      entry("vkGetPhysicalDeviceMemoryProperties2", &getMemory2),
      entry("vkGetPhysicalDeviceMemoryProperties2KHR", &getMemory2),
      entry("vkGetPhysicalDeviceExternalBufferProperties", &getExternalBuffer),
      entry("vkGetPhysicalDeviceExternalBufferPropertiesKHR", &getExternalBuffer),
      entry("vkCreateDevice", &createDevice)};
  const auto found = std::ranges::find(functions, std::string_view{name}, &Entry::name);
  return found == functions.end() ? nullptr : found->function;
}

} // namespace rdmagpu::standin::vulkan

RDMAGPU_STANDIN_API VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* loader) {
  using rdmagpu::standin::vulkan::instanceFunction;
  if(loader->loaderLayerInterfaceVersion < 2)
    return VK_ERROR_INITIALIZATION_FAILED;
  loader->loaderLayerInterfaceVersion = 2;
  loader->pfnGetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(instanceFunction("vkGetInstanceProcAddr"));
  loader->pfnGetDeviceProcAddr =
      reinterpret_cast<PFN_vkGetDeviceProcAddr>(instanceFunction("vkGetDeviceProcAddr"));
  loader->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
