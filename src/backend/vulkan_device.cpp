#include <backend/vulkan_device.hpp>
#include <base/library_error.hpp>

#include <vector>

namespace rdmagpu::backend::vulkan {
namespace {

/// Looks functions up in a device.
class DeviceSymbols final : public SymbolSource {
public:
  DeviceSymbols(const api::InstanceFunctions& instance, VkDevice device) noexcept
      : m_instance(&instance), m_device(device) {}
  void* find(const char* symbol) noexcept override {
    return reinterpret_cast<void*>(m_instance->getDeviceProcAddr(m_device, symbol)); // it has no type
  }

private:
  const api::InstanceFunctions* m_instance;
  VkDevice m_device;
};

constexpr VkQueueFlags computes = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;

std::vector<VkQueueFamilyProperties> queueFamilies(const api::InstanceFunctions& vulkan,
                                                   VkPhysicalDevice device) {
  std::uint32_t count{};
  vulkan.getPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vulkan.getPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  return families;
}

/// A family that does nothing but copy has engines of its own for it; any that computes can copy too.
std::optional<std::uint32_t> chooseQueueFamily(const std::vector<VkQueueFamilyProperties>& families) {
  std::optional<std::uint32_t> chosen;
  for(std::uint32_t i = 0; i < families.size(); ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if((flags & computes) == 0 && (flags & VK_QUEUE_TRANSFER_BIT) != 0)
      return i;
    if(!chosen && (flags & computes) != 0)
      chosen = i;
  }
  return chosen;
}

} // namespace

Result<std::shared_ptr<const LogicalDevice>> LogicalDevice::create(std::shared_ptr<const Instance> instance,
                                                                   const Gpu& gpu) {
  // The constructor is not make_shared's to call.
  const std::shared_ptr<LogicalDevice> device{new LogicalDevice{std::move(instance), gpu, false}};
  const auto family = chooseQueueFamily(queueFamilies(device->m_instance->functions(), gpu.handle));
  if(!family)
    return libraryError("vkGetPhysicalDeviceQueueFamilyProperties", LibraryCode::VulkanNoQueue);
  device->m_queueFamily = *family;
  if(const auto opened = device->open(); !opened)
    return opened.error();
  return std::shared_ptr<const LogicalDevice>{device};
}

Result<std::shared_ptr<const LogicalDevice>> LogicalDevice::borrow(std::shared_ptr<const Instance> instance,
                                                                   const Gpu& gpu, VkDevice handle,
                                                                   const VulkanOptions& options) {
  const std::shared_ptr<LogicalDevice> device{new LogicalDevice{std::move(instance), gpu, true}};
  if(options.queue) {
    const auto families = queueFamilies(device->m_instance->functions(), gpu.handle);
    constexpr VkQueueFlags copies = computes | VK_QUEUE_TRANSFER_BIT;
    if(options.queueFamily >= families.size() || (families[options.queueFamily].queueFlags & copies) == 0)
      return libraryError("RdmaGpuBuffer::make", LibraryCode::VulkanQueueCannotCopy, options.queueFamily,
                          families.size());
    device->m_queue = static_cast<VkQueue>(options.queue);
    device->m_queueFamily = options.queueFamily;
  }
  device->m_handle = handle;
  const std::lock_guard lock{loaderMutex()};
  if(const auto loaded = device->load(); !loaded)
    return loaded.error();
  return std::shared_ptr<const LogicalDevice>{device};
}

Result<void> LogicalDevice::open() noexcept {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = m_queueFamily;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceExternalMemoryRDMAFeaturesNV rdma{};
  rdma.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV;
  rdma.externalMemoryRDMA = VK_TRUE;
  const char* const extension = VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &rdma;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = 1;
  info.ppEnabledExtensionNames = &extension;

  const api::InstanceFunctions& vulkan = m_instance->functions();
  const VkDeviceCreateInfo* const asked = &info;
  const std::lock_guard lock{loaderMutex()};
  const auto created = api::call(0, vulkan.createDevice, m_gpu.handle, asked, api::Callbacks{}, &m_handle);
  if(!created)
    return created;
  if(const auto loaded = load(); !loaded)
    return loaded;
  m_functions->getDeviceQueue(m_handle, m_queueFamily, 0, &m_queue);
  return {};
}

Result<void> LogicalDevice::load() noexcept {
  DeviceSymbols symbols{m_instance->functions(), m_handle};
  m_functions.emplace(symbols);
  if(const char* missing = m_functions->load.missing()) {
    if(!m_borrowed)
      m_functions->destroyDevice(m_handle, nullptr);
    m_functions.reset();
    return libraryError(missing, LibraryCode::DriverTooOld);
  }
  return {};
}

LogicalDevice::~LogicalDevice() {
  if(!m_functions || m_borrowed || inForkedChild())
    return;
  const std::lock_guard lock{loaderMutex()};
  m_functions->destroyDevice(m_handle, nullptr);
}

Result<OwnedBuffer> createBuffer(const LogicalDevice& device, std::uint64_t bytes, VkBufferUsageFlags usage,
                                 const void* next) noexcept {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = next;
  info.size = bytes;
  info.usage = usage;
  VkBuffer buffer{};
  const VkBufferCreateInfo* const asked = &info;
  const auto created =
      api::call(bytes, device.functions().createBuffer, device.handle(), asked, api::Callbacks{}, &buffer);
  if(!created)
    return created.error();
  return OwnedBuffer{device, buffer};
}

VkMemoryRequirements requirementsOf(const LogicalDevice& device, VkBuffer buffer) noexcept {
  VkBufferMemoryRequirementsInfo2 info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
  info.buffer = buffer;
  VkMemoryRequirements2 requirements{};
  requirements.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
  device.functions().getBufferMemoryRequirements2(device.handle(), &info, &requirements);
  return requirements.memoryRequirements;
}

Result<OwnedMemory> allocateFor(const LogicalDevice& device, VkBuffer buffer,
                                const VkMemoryRequirements& requirements, std::uint32_t type,
                                const void* next) noexcept {
  const api::DeviceFunctions& vulkan = device.functions();
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = next;
  info.allocationSize = requirements.size;
  info.memoryTypeIndex = type;
  VkDeviceMemory memory{};
  const VkMemoryAllocateInfo* const asked = &info;
  const auto allocated =
      api::call(requirements.size, vulkan.allocateMemory, device.handle(), asked, api::Callbacks{}, &memory);
  if(!allocated)
    return allocated.error();
  OwnedMemory owned{device, memory};
  const auto bound =
      api::call(requirements.size, vulkan.bindBufferMemory, device.handle(), buffer, memory, VkDeviceSize{0});
  if(!bound)
    return bound.error();
  return owned;
}

} // namespace rdmagpu::backend::vulkan
