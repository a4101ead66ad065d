#include <contract/cuda_vulkan.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rdmagpu::test {
namespace {

using backend::vulkan::Copier;
using backend::vulkan::Gpu;
using backend::vulkan::Instance;
using backend::vulkan::LogicalDevice;
using backend::vulkan::SlotKind;

/// Other tests are to find no driver of Vulkan's; these look for the machine's.
void seeDrivers() {
  const char* hidden = std::getenv("VK_ICD_FILENAMES");
  if(hidden && std::strcmp(hidden, "/dev/null") == 0)
    unsetenv("VK_ICD_FILENAMES"); // NOLINT(concurrency-mt-unsafe): before any other thread
}

std::array<std::byte, 16> firstUuid() {
  const api::Functions& cuda = CudaDriver::instance().functions;
  api::Uuid uuid;
  EXPECT_EQ(cuda.init(0), api::Status::Success);
  EXPECT_EQ(cuda.deviceGetUuid(&uuid, api::Device{}), api::Status::Success);
  std::array<std::byte, 16> bytes{};
  std::copy_n(uuid.bytes, bytes.size(), bytes.begin());
  return bytes;
}

} // namespace

VulkanUser::VulkanUser() {
  seeDrivers();
  auto instance = Instance::create();
  if(!instance) {
    m_reason = instance.error().message();
    return;
  }
  const auto gpus = (*instance)->list();
  if(!gpus) {
    m_reason = gpus.error().message();
    return;
  }
  const auto gpu = std::ranges::find(*gpus, firstUuid(), &Gpu::uuid);
  if(gpu == gpus->end()) {
    m_reason = "no device of Vulkan's has its UUID; the first is " + gpus->front().name;
    return;
  }
  auto made = LogicalDevice::create(SlotKind::Import, *std::move(instance), *gpu);
  EXPECT_TRUE(made) << made.error().message();
  m_device = *std::move(made);
  auto copier = Copier::create(m_device);
  EXPECT_TRUE(copier) << copier.error().message();
  m_copier = *std::move(copier);
  context = interop::vulkanContext(m_device->instance().handle(), m_device->gpu().handle, m_device->handle());
}

RdmaGpuBufferConfig alsoVulkanConfig() {
  RdmaGpuBufferConfig config = cudaConfig();
  config.alsoVulkan = true;
  return config;
}

RdmaGpuBufferConfig VulkanUser::config() const {
  RdmaGpuBufferConfig config = alsoVulkanConfig();
  config.vulkanCtx = &context;
  config.vulkan.enabledExtensions = extensions;
  return config;
}

} // namespace rdmagpu::test
