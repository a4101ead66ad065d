// Creating slots of GPU memory that are also buffers of Vulkan's, beside what a program without this library
// needs as well: the same slots of CUDA's alone, and a device of Vulkan's. Without CUDA's driver, a GPU that
// peers can reach, and Vulkan for it, it says so and ends with 0.
#include <cuda_main.hpp>
#include <driver/vulkan.hpp>
#include <fresh_process.hpp>
#include <side_by_side.hpp>

#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <benchmark/benchmark.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace rdmagpu;
namespace api = driver::vulkan;

RdmaGpuBufferConfig config(bool alsoVulkan) {
  return {.api = RdmaGpuApi::Cuda, .slotCount = 64, .frameBytes = 4'147'200, .alsoVulkan = alsoVulkan};
}

/// Looks symbols up by whatever finds them.
template <class Find>
class Symbols final : public SymbolSource {
public:
  explicit Symbols(Find find) : m_find(find) {}
  void* find(const char* symbol) noexcept override { return m_find(symbol); }

private:
  Find m_find;
};

const api::LoaderFunctions& loader() {
  static Symbols symbols{[handle = dlopen("libvulkan.so.1", RTLD_NOW)](const char* symbol) {
    return handle ? dlsym(handle, symbol) : nullptr;
  }};
  static const api::LoaderFunctions functions{symbols};
  return functions;
}

/// An instance and a device of the first GPU, as a program makes them that imports memory by itself.
class VulkanDevice {
public:
  explicit VulkanDevice(benchmark::State& state) {
    if(!createInstance() || !createDevice())
      state.SkipWithError("no device of Vulkan's");
  }
  VulkanDevice(VulkanDevice&&) = delete;
  ~VulkanDevice() {
    if(m_device)
      m_destroyDevice(m_device, nullptr);
    if(m_instance)
      m_functions->destroyInstance(m_instance, nullptr);
  }

private:
  bool createInstance() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if(loader().createInstance(&info, nullptr, &m_instance) != api::Status::Success)
      return false;
    Symbols symbols{[this](const char* symbol) {
      return reinterpret_cast<void*>(loader().getInstanceProcAddr(m_instance, symbol)); // it has no type
    }};
    m_functions.emplace(symbols);
    return true;
  }
  bool createDevice() {
    std::uint32_t count = 1;
    VkPhysicalDevice physical{};
    const auto listed = m_functions->enumeratePhysicalDevices(m_instance, &count, &physical);
    if(listed != api::Status::Success && listed != api::Status::Incomplete)
      return false;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    const char* const extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
    if(m_functions->createDevice(physical, &info, nullptr, &m_device) != api::Status::Success)
      return false;
    m_destroyDevice = reinterpret_cast<PFN_vkDestroyDevice>(
        m_functions->getDeviceProcAddr(m_device, "vkDestroyDevice")); // it has no type
    return true;
  }

  VkInstance m_instance{};
  std::optional<api::InstanceFunctions> m_functions;
  VkDevice m_device{};
  PFN_vkDestroyDevice m_destroyDevice{};
};

RdmaGpuBuffer create(benchmark::State& state, bool alsoVulkan) {
  auto buffer = RdmaGpuBuffer::make(config(alsoVulkan));
  if(!buffer) {
    state.SkipWithError(buffer.error().message().c_str());
    return {};
  }
  return *std::move(buffer);
}

void CreateAlsoVulkanAgainstCudaAndADevice(benchmark::State& state) {
  bench::SideBySide creating;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    std::optional<RdmaGpuBuffer> both;
    std::optional<RdmaGpuBuffer> alone;
    std::optional<VulkanDevice> device;
    creating.round([&] { both.emplace(create(state, true)); },
                   [&] {
                     alone.emplace(create(state, false));
                     device.emplace(state);
                   });
  }
  creating.report(state);
}
BENCHMARK(CreateAlsoVulkanAgainstCudaAndADevice)->Iterations(20)->Unit(benchmark::kMicrosecond);

/// Whether there is something to measure.
bool begin() {
  const auto could = bench::inFreshProcess([] {
    const auto buffer = RdmaGpuBuffer::make(config(true));
    if(!buffer)
      std::fprintf(stderr, "bench_cuda_vulkan: skipped: %s\n", buffer.error().message().c_str());
    return static_cast<bool>(buffer);
  });
  return could.value_or(false) && bench::cuda().init(0) == driver::cuda::Status::Success;
}

} // namespace

int main(int argc, char** argv) { return bench::runOnCuda(argc, argv, begin); }
