#include <backend/vulkan_instance.hpp>
#include <base/library_error.hpp>
#include <os/pci.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace rdmagpu::backend::vulkan {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";

/// Looks functions up in an instance.
class InstanceSymbols final : public SymbolSource {
public:
  InstanceSymbols(const api::LoaderFunctions& loader, VkInstance instance) noexcept
      : m_loader(&loader), m_instance(instance) {}
  void* find(const char* symbol) noexcept override {
    return reinterpret_cast<void*>(m_loader->getInstanceProcAddr(m_instance, symbol)); // it has no type
  }

private:
  const api::LoaderFunctions* m_loader;
  VkInstance m_instance;
};

Result<std::vector<VkExtensionProperties>> extensionsOf(const api::InstanceFunctions& vulkan,
                                                        VkPhysicalDevice device) {
  const char* const ofNoLayer{};
  std::vector<VkExtensionProperties> extensions;
  for(;;) { // until the number is the same in both calls
    std::uint32_t count{};
    VkExtensionProperties* none{};
    const auto counted =
        api::call(0, vulkan.enumerateDeviceExtensionProperties, device, ofNoLayer, &count, none);
    if(!counted)
      return counted.error();
    extensions.resize(count);
    const auto status =
        vulkan.enumerateDeviceExtensionProperties(device, ofNoLayer, &count, extensions.data());
    if(status == api::Status::Incomplete)
      continue;
    if(status != api::Status::Success)
      return api::failure(vulkan.enumerateDeviceExtensionProperties.symbol(), status, 0);
    extensions.resize(count);
    return extensions;
  }
}

bool offers(const std::vector<VkExtensionProperties>& extensions, std::string_view name) noexcept {
  return std::ranges::any_of(
      extensions, [name](const VkExtensionProperties& offered) { return offered.extensionName == name; });
}

void readProperties(const api::InstanceFunctions& vulkan, Gpu& gpu, bool pciBusInfo) noexcept {
  VkPhysicalDevicePCIBusInfoPropertiesEXT bus{};
  bus.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
  VkPhysicalDeviceIDProperties id{};
  id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  id.pNext = pciBusInfo ? &bus : nullptr;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &id;
  vulkan.getPhysicalDeviceProperties2(gpu.handle, &properties);
  gpu.maxAllocations = properties.properties.limits.maxMemoryAllocationCount;
  std::memcpy(gpu.uuid.data(), id.deviceUUID, gpu.uuid.size());
  if(pciBusInfo)
    gpu.pci = PciAddress{.domain = bus.pciDomain,
                         .bus = static_cast<std::uint8_t>(bus.pciBus),
                         .device = static_cast<std::uint8_t>(bus.pciDevice),
                         .function = static_cast<std::uint8_t>(bus.pciFunction)};
}

void readRdma(const api::InstanceFunctions& vulkan, Gpu& gpu) noexcept {
  VkPhysicalDeviceExternalMemoryRDMAFeaturesNV rdma{};
  rdma.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &rdma;
  vulkan.getPhysicalDeviceFeatures2(gpu.handle, &features);
  gpu.rdmaFeature = rdma.externalMemoryRDMA == VK_TRUE;

  gpu.exportsAddresses =
      (externalFeatures(vulkan, gpu.handle, slotUsage, VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV) &
       VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
}

Error absent(const GpuSelector& named, std::size_t count) noexcept {
  if(named.ordinal) {
    Error error = *named.ordinal < 0 ? libraryError(makeCall, LibraryCode::OrdinalNegative, 0, count)
                                     : libraryError(makeCall, LibraryCode::DeviceOutOfRange,
                                                    static_cast<std::uint64_t>(*named.ordinal), count);
    error.device = *named.ordinal;
    return error;
  }
  Error error = libraryError(makeCall, LibraryCode::DeviceNotFound);
  error.pci = named.pci;
  error.uuid = named.uuid;
  return error;
}

} // namespace

Result<Gpu> namedGpu(const std::vector<Gpu>& gpus, const GpuSelector& named) {
  const Gpu* chosen{};
  const auto choose = [&](GpuSelector one, auto matches) -> Result<void> {
    const auto found = std::ranges::find_if(gpus, matches);
    if(found == gpus.end())
      return absent(one, gpus.size());
    if(chosen && chosen != &*found)
      return libraryError(makeCall, LibraryCode::GpuSelectorConflict);
    chosen = &*found;
    return {};
  };
  Result<void> result;
  if(named.ordinal)
    result = choose({.ordinal = named.ordinal, .uuid = {}, .luid = {}},
                    [&](const Gpu& gpu) { return gpu.ordinal == *named.ordinal; });
  if(result && named.pci)
    result = choose({.ordinal = {}, .pci = named.pci, .uuid = {}, .luid = {}},
                    [&](const Gpu& gpu) { return gpu.pci == named.pci; });
  if(result && named.uuid)
    result = choose({.ordinal = {}, .uuid = named.uuid, .luid = {}},
                    [&](const Gpu& gpu) { return gpu.uuid == *named.uuid; });
  if(!result)
    return result.error();
  return chosen ? *chosen : gpus.front();
}

VkExternalMemoryFeatureFlags externalFeatures(const api::InstanceFunctions& vulkan, VkPhysicalDevice device,
                                              VkBufferUsageFlags usage,
                                              VkExternalMemoryHandleTypeFlagBits handleType) noexcept {
  VkPhysicalDeviceExternalBufferInfo asked{};
  asked.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
  asked.usage = usage;
  asked.handleType = handleType;
  VkExternalBufferProperties answer{};
  answer.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
  vulkan.getPhysicalDeviceExternalBufferProperties(device, &asked, &answer);
  return answer.externalMemoryProperties.externalMemoryFeatures;
}

std::uint32_t rdmaTypes(const VkPhysicalDeviceMemoryProperties& memory) noexcept {
  std::uint32_t types = 0;
  for(std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if((memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV) != 0)
      types |= std::uint32_t{1} << i;
  }
  return types;
}

Result<void> checkRdma(const Gpu& gpu) noexcept {
  const auto lacks = [&](LibraryCode code) {
    Error error = libraryError(makeCall, code);
    error.device = gpu.ordinal;
    error.pci = gpu.pci;
    return error;
  };
  if(gpu.apiVersion < VK_API_VERSION_1_1)
    return lacks(LibraryCode::VulkanTooOld);
  if(!gpu.rdmaExtension)
    return lacks(LibraryCode::VulkanNoRdma);
  if(!gpu.rdmaFeature)
    return lacks(LibraryCode::VulkanRdmaOff);
  if(!gpu.exportsAddresses)
    return lacks(LibraryCode::VulkanNoAddressExport);
  if(rdmaTypes(gpu.memory) == 0)
    return lacks(LibraryCode::VulkanNoRdmaMemory);
  return {};
}

std::mutex& loaderMutex() noexcept {
  static std::mutex mutex;
  return mutex;
}

Result<std::shared_ptr<const Instance>> Instance::create() {
  const auto loader = openDriver();
  if(!loader)
    return loader.error();
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "rdmagpu";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;

  const std::shared_ptr<Instance> instance{
      new Instance{false}}; // the constructor is not make_shared's to call
  const VkInstanceCreateInfo* const asked = &info;
  const std::lock_guard lock{loaderMutex()};
  const auto created = api::call(0, (*loader)->createInstance, asked, api::Callbacks{}, &instance->m_handle);
  if(!created)
    return created.error();
  if(const auto loaded = instance->load(**loader); !loaded)
    return loaded.error();
  return std::shared_ptr<const Instance>{instance};
}

Result<std::shared_ptr<const Instance>> Instance::borrow(VkInstance handle) {
  const auto loader = openDriver();
  if(!loader)
    return loader.error();
  const std::shared_ptr<Instance> instance{new Instance{true}};
  instance->m_handle = handle;
  const std::lock_guard lock{loaderMutex()};
  if(const auto loaded = instance->load(**loader); !loaded)
    return loaded.error();
  return std::shared_ptr<const Instance>{instance};
}

Result<void> Instance::load(const api::LoaderFunctions& loader) noexcept {
  InstanceSymbols symbols{loader, m_handle};
  m_functions.emplace(symbols);
  if(const char* missing = m_functions->load.missing()) {
    if(!m_borrowed)
      m_functions->destroyInstance(m_handle, nullptr);
    m_functions.reset();
    return libraryError(missing, LibraryCode::DriverTooOld);
  }
  return {};
}

Instance::~Instance() {
  if(!m_functions || m_borrowed || inForkedChild())
    return;
  const std::lock_guard lock{loaderMutex()};
  m_functions->destroyInstance(m_handle, nullptr);
}

Result<std::vector<Gpu>> Instance::list() const {
  std::vector<VkPhysicalDevice> devices;
  for(;;) { // until the number is the same in both calls
    std::uint32_t count{};
    VkPhysicalDevice* none{};
    if(const auto counted = api::call(0, m_functions->enumeratePhysicalDevices, m_handle, &count, none);
       !counted)
      return counted.error();
    devices.resize(count);
    const auto status = m_functions->enumeratePhysicalDevices(m_handle, &count, devices.data());
    if(status == api::Status::Incomplete)
      continue;
    if(status != api::Status::Success)
      return api::failure(m_functions->enumeratePhysicalDevices.symbol(), status, 0);
    devices.resize(count);
    break;
  }
  if(devices.empty())
    return api::failure(m_functions->enumeratePhysicalDevices.symbol(), api::Status::InitializationFailed, 0);
  std::vector<Gpu> gpus;
  for(VkPhysicalDevice device : devices) {
    auto gpu = describe(device, static_cast<std::int32_t>(gpus.size()));
    if(!gpu)
      return gpu.error();
    gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

Result<Gpu> Instance::describe(VkPhysicalDevice device, std::int32_t ordinal) const {
  const api::InstanceFunctions& vulkan = *m_functions;
  VkPhysicalDeviceProperties properties{};
  vulkan.getPhysicalDeviceProperties(device, &properties);
  Gpu gpu{.handle = device,
          .ordinal = ordinal,
          .name = properties.deviceName,
          .apiVersion = properties.apiVersion};
  if(gpu.apiVersion < VK_API_VERSION_1_1)
    return gpu;
  const auto extensions = extensionsOf(vulkan, device);
  if(!extensions)
    return extensions.error();
  gpu.rdmaExtension = offers(*extensions, VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME);
  gpu.tellsBudget = offers(*extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  readProperties(vulkan, gpu, offers(*extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME));
  if(gpu.rdmaExtension)
    readRdma(vulkan, gpu);
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  vulkan.getPhysicalDeviceMemoryProperties2(device, &memory);
  gpu.memory = memory.memoryProperties;
  return gpu;
}

Result<Gpu> chooseGpu(const std::vector<Gpu>& gpus, const RdmaGpuBufferConfig& config,
                      const std::string& root) {
  if(config.gpu.luid) // Windows' way
    return libraryError(makeCall, LibraryCode::PlatformLacks);
  if(!config.gpu.empty())
    return namedGpu(gpus, config.gpu);
  const auto near = [&](const Gpu& gpu) {
    return config.peer && gpu.pci ? os::sharedPath(*gpu.pci, *config.peer, root) : 0;
  };
  const Gpu* best{};
  for(const Gpu& gpu : gpus) {
    if(checkRdma(gpu) && (!best || near(gpu) > near(*best)))
      best = &gpu;
  }
  return best ? *best : gpus.front(); // whose lack is then told
}

std::optional<std::uint64_t> freeHeapBytes(const Instance& instance, const Gpu& gpu,
                                           std::uint32_t heap) noexcept {
  if(!gpu.tellsBudget)
    return {};
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = &budget;
  instance.functions().getPhysicalDeviceMemoryProperties2(gpu.handle, &memory);
  const std::uint64_t all = budget.heapBudget[heap];
  return all - std::min(all, budget.heapUsage[heap]);
}

} // namespace rdmagpu::backend::vulkan
