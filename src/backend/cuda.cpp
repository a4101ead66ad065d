#include <backend/cuda_budget.hpp>
#include <backend/cuda_inspect.hpp>
#include <backend/cuda_region.hpp>
#include <backend/registry.hpp>
#include <base/log.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

class CudaDevice final : public Device {
public:
  CudaDevice(Gpu gpu, const Bar1& bar1, CudaMemory memory, GpuRdma rdma,
             std::shared_ptr<const VulkanImporter> vulkan) noexcept
      : m_gpu(std::move(gpu)), m_bar1(bar1), m_memory(memory), m_rdma(rdma), m_vulkan(std::move(vulkan)) {}

  Result<RegionPtr> allocate(const RegionRequest& request) override {
    auto region = CudaRegion::allocate(m_gpu, m_bar1, m_memory, request, m_vulkan.get());
    if(region || region.error().kind != Errc::OutOfMemory)
      return region;
    Error error = region.error();
    if(error.available != 0) // as the driver told when it refused
      return error;
    const auto free = freeBytes(m_gpu);
    error.available = free.value_or(0);
    error.total = free ? 0 : m_gpu.totalBytes;
    return error;
  }

  std::size_t slotGranularity() const noexcept override { return sharedPageBytes(); }

  Result<void> mayExport(const RdmaGpuBufferConfig&) const override { return checkExportable(m_gpu); }

  std::optional<Budget> budget(const RdmaGpuBufferConfig&) const override {
    const std::uint64_t window =
        limitedByBar1() ? m_bar1.freeBytes.value_or(m_gpu.totalBytes) : m_gpu.totalBytes;
    const std::uint64_t left = lessReserve(std::min(freeBytes(m_gpu).value_or(m_gpu.totalBytes), window));
    return Budget{usable(left), LibraryCode::DeviceBudgetExceeded};
  }
  bool driverKeepsBudget() const noexcept override { return m_bar1.coversMemory || !limitedByBar1(); }

private:
  bool limitedByBar1() const noexcept { return m_rdma != GpuRdma::Off; }
  std::uint64_t usable(std::uint64_t bytes) const {
    if(m_memory != CudaMemory::Vmm)
      return usableOf(bytes, m_memory, 0);
    const auto granularity = VmmMemory::granularityOn(m_gpu, m_rdma);
    if(granularity)
      return usableOf(bytes, m_memory, *granularity);
    log(LogLevel::Warning, "the driver does not tell in what granules a GPU's memory comes",
        granularity.error());
    return bytes;
  }

  Gpu m_gpu;
  Bar1 m_bar1;
  CudaMemory m_memory;
  GpuRdma m_rdma;
  std::shared_ptr<const VulkanImporter> m_vulkan; ///< Null: the slots are CUDA's alone.
};

class CudaBackend final : public Backend {
public:
  RdmaGpuApi api() const noexcept override { return RdmaGpuApi::Cuda; }
  HandoffKind handoffKind() const noexcept override { return HandoffKind::CudaPointer; }

  BackendInfo probe() const override {
    BackendInfo info{.api = api()};
    if(const auto listed = list(info); !listed)
      info.reason = listed.error();
    if(info.available)
      info.reason = {};
    return info;
  }

  Result<DevicePtr> open(const RdmaGpuBufferConfig& config) const override {
    const auto cuda = openDriver();
    if(!cuda)
      return cuda.error();
    const auto ordinal = chooseGpu(**cuda, config);
    if(!ordinal)
      return ordinal.error();
    auto gpu = knownGpu(**cuda, *ordinal);
    if(!gpu)
      return gpu.error();
    const auto memory = chooseMemory(*gpu, config.cudaMemory, config.rdma);
    if(!memory)
      return memory.error();
    const auto vulkan =
        config.alsoVulkan ? openAlias(*gpu, *memory, config) : Result<ImporterPtr>{ImporterPtr{}};
    if(!vulkan)
      return vulkan.error();
    const Bar1 bar1 = readBar1(*gpu);
    return DevicePtr{std::make_shared<CudaDevice>(*std::move(gpu), bar1, *memory, config.rdma, *vulkan)};
  }

  Result<RegionPtr> attach(os::Fd fd, std::size_t bytes) const override {
    if(const auto cuda = openDriver(); !cuda)
      return cuda.error();
    return CudaRegion::import(std::move(fd), bytes);
  }

  Result<std::optional<MemoryFacts>> inspect(std::uintptr_t begin, std::size_t bytes) const override {
    return inspectMemory(begin, bytes);
  }

private:
  using ImporterPtr = std::shared_ptr<const VulkanImporter>;
  /// Vulkan's device of that GPU.
  static Result<ImporterPtr> openAlias(const Gpu& gpu, CudaMemory memory, const RdmaGpuBufferConfig& config) {
    if(config.cudaMemory == CudaMemory::MemAlloc)
      return libraryError("RdmaGpuBuffer::make", LibraryCode::VulkanNeedsVmm);
    if(memory != CudaMemory::Vmm)
      return whyNotVmm(gpu);
    const api::Functions& cuda = loadedDriver();
    api::Uuid uuid;
    if(const auto got = cuda.call(0, cuda.deviceGetUuid, &uuid, gpu.device); !got)
      return got.error();
    std::array<std::byte, 16> bytes{};
    std::copy_n(uuid.bytes, bytes.size(), bytes.begin());
    auto opened = openVulkanImporter(config, bytes);
    if(opened)
      return opened;
    Error error = opened.error();
    error.device = gpu.ordinal;
    return error;
  }
  /// Adds the GPUs. The result is the reason why one cannot be used, the first one's if several.
  static Result<void> list(BackendInfo& info) {
    const auto cuda = openDriver();
    if(!cuda)
      return cuda.error();
    const auto count = countGpus(**cuda);
    if(!count)
      return count.error();
    Result<void> reason;
    if(*count == 0)
      reason = (*cuda)->failure("cuDeviceGetCount", driver::cuda::Status::NoDevice, 0);
    for(int i = 0; i < *count; ++i) {
      const auto gpu = describeGpu(**cuda, i);
      if(!gpu) {
        // The reason is not told when another GPU can be used.
        log(LogLevel::Warning, "a GPU is left out of the list", gpu.error());
        reason = reason ? Result<void>{gpu.error()} : reason;
        continue;
      }
      info.devices.push_back(
          {.name = gpu->name, .pci = gpu->pci, .rdmaCapable = gpu->rdma ? Answer::Yes : Answer::No});
      const auto memory = chooseMemory(*gpu, CudaMemory::Auto, GpuRdma::Require);
      info.available = info.available || memory;
      if(!memory && reason)
        reason = memory.error();
    }
    return reason;
  }
};

} // namespace

const Backend& instance() noexcept {
  static const CudaBackend backend;
  return backend;
}

} // namespace rdmagpu::backend::cuda
