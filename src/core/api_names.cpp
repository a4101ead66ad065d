#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <array>

namespace rdmagpu {
namespace {

struct ApiName {
  RdmaGpuApi api;
  const char* text;
};

constexpr std::array apiNames{
    ApiName{RdmaGpuApi::Auto, "auto"},
    ApiName{RdmaGpuApi::HostFallback, "host"},
    ApiName{RdmaGpuApi::Cuda, "cuda"},
    ApiName{RdmaGpuApi::Vulkan, "vulkan"},
    ApiName{RdmaGpuApi::VulkanDmaBuf, "vulkan-dmabuf"},
    ApiName{RdmaGpuApi::D3D12, "d3d12"},
    ApiName{RdmaGpuApi::Hip, "hip"},
    ApiName{RdmaGpuApi::LevelZero, "level-zero"},
    ApiName{RdmaGpuApi::PciP2p, "pci-p2p"},
};

} // namespace

const char* name(RdmaGpuApi api) noexcept {
  for(const ApiName& known : apiNames) {
    if(known.api == api)
      return known.text;
  }
  return "none";
}

std::optional<RdmaGpuApi> apiNamed(std::string_view text) noexcept {
  for(const ApiName& known : apiNames) {
    if(text == known.text)
      return known.api;
  }
  return {};
}

const char* name(CudaMemory memory) noexcept {
  switch(memory) {
  case CudaMemory::Auto:
    return "auto";
  case CudaMemory::Vmm:
    return "vmm";
  case CudaMemory::MemAlloc:
    return "mem-alloc";
  }
  return "?";
}

const char* name(PinnedBy who) noexcept {
  switch(who) {
  case PinnedBy::Nobody:
    return "nobody";
  case PinnedBy::Peer:
    return "peer";
  case PinnedBy::Cuda:
    return "cuda";
  case PinnedBy::Hip:
    return "hip";
  case PinnedBy::LevelZero:
    return "level-zero";
  }
  return "?";
}

} // namespace rdmagpu
