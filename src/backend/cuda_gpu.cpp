#include <backend/cuda_budget.hpp>
#include <backend/cuda_gpu.hpp>
#include <base/library_error.hpp>
#include <os/numa.hpp>
#include <os/pci.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

constexpr const char* makeCall = "RdmaGpuBuffer::make";
constexpr int busIdBytes = 32;

/// 0 for an attribute that is younger than the driver.
Result<int> attribute(const api::Functions& cuda, api::Device device, api::DeviceAttribute which) {
  int value = 0;
  const api::Status status = cuda.deviceGetAttribute(&value, which, device);
  if(status == api::Status::InvalidValue)
    return 0;
  if(status != api::Status::Success)
    return cuda.failure(cuda.deviceGetAttribute.symbol(), status, 0);
  return value;
}

Result<void> readAttributes(const api::Functions& cuda, Gpu& gpu) {
  using A = api::DeviceAttribute;
  int ordering{};
  int integrated{};
  int vmm{};
  int rdma{};
  int rdmaWithVmm{};
  int posixFd{};
  int dmaBuf{};
  const std::array<std::pair<A, int*>, 7> wanted{{{A::Integrated, &integrated},
                                                  {A::VirtualMemoryManagementSupported, &vmm},
                                                  {A::GpuDirectRdmaSupported, &rdma},
                                                  {A::GpuDirectRdmaWithCudaVmmSupported, &rdmaWithVmm},
                                                  {A::HandleTypePosixFileDescriptorSupported, &posixFd},
                                                  {A::DmaBufSupported, &dmaBuf},
                                                  {A::GpuDirectRdmaWritesOrdering, &ordering}}};
  for(const auto& [which, where] : wanted) {
    const auto value = attribute(cuda, gpu.device, which);
    if(!value)
      return value.error();
    *where = *value;
  }
  gpu.integrated = integrated != 0;
  gpu.vmm = vmm != 0;
  gpu.rdma = rdma != 0;
  gpu.rdmaWithVmm = rdmaWithVmm != 0;
  gpu.posixFd = posixFd != 0;
  gpu.dmaBuf = dmaBuf != 0;
  gpu.writesOrdering = ordering;
  return {};
}

Result<api::Device> deviceAt(const api::Functions& cuda, int ordinal) {
  api::Device device{};
  if(const auto got = cuda.call(0, cuda.deviceGet, &device, ordinal); !got)
    return got.error();
  return device;
}

Result<std::string> busIdOf(const api::Functions& cuda, api::Device device) {
  std::array<char, busIdBytes> text{};
  if(const auto got = cuda.call(0, cuda.deviceGetPciBusId, text.data(), busIdBytes, device); !got)
    return got.error();
  return std::string{text.data()};
}

/// The first GPU for which `matches`, which returns a Result<bool>, is true.
template <class Matches>
Result<int> findGpu(const char* call, const api::Functions& cuda, int count, Matches matches) {
  for(int i = 0; i < count; ++i) {
    const auto device = deviceAt(cuda, i);
    if(!device)
      return device.error();
    const auto found = matches(*device);
    if(!found)
      return found.error();
    if(*found)
      return i;
  }
  return libraryError(call, LibraryCode::DeviceNotFound);
}

/// The error with the name of the GPU that it speaks of.
Error asNamed(Error error, const GpuSelector& named) {
  error.pci = named.pci;
  error.uuid = named.uuid;
  return error;
}

Result<int> checkOrdinal(const char* call, int ordinal, int count) {
  if(ordinal >= 0 && ordinal < count)
    return ordinal;
  const auto gpus = static_cast<std::uint64_t>(count);
  Error error = ordinal < 0 ? libraryError(call, LibraryCode::OrdinalNegative, 0, gpus)
                            : libraryError(call, LibraryCode::DeviceOutOfRange,
                                           static_cast<std::uint64_t>(ordinal), gpus);
  error.device = ordinal;
  return error;
}

struct Known {
  std::mutex mutex;
  std::map<int, Gpu> gpus; ///< By ordinal.
};

Known& knownGpus() noexcept {
  static Known known;
  return known;
}

Error notCapable(const char* attribute, const Gpu& gpu) {
  Error error = libraryError(attribute, LibraryCode::NotRdmaCapable);
  error.device = gpu.ordinal;
  return error;
}

/// Compares as greater the better a GPU is: one that the config's memory can be allocated on before others,
/// of those one that peers reach, of those one that shares more of the peer's way, of those one on its node.
using Rank = std::tuple<bool, bool, std::size_t, bool>;

Rank rankOf(const Gpu& gpu, const RdmaGpuBufferConfig& config, const std::string& root) {
  // Of host memory any GPU's copy engine will do.
  const bool host = config.api == RdmaGpuApi::HostFallback;
  const bool usable = host || chooseMemory(gpu, config.cudaMemory, config.rdma);
  const bool reachable = host || config.rdma == GpuRdma::Off || gpu.rdma;
  if(!gpu.pci)
    return {usable, reachable, 0, false};
  const int node = os::nodeOf(*gpu.pci, root);
  return {usable, reachable, os::sharedPath(*gpu.pci, *config.peer, root),
          node >= 0 && node == os::nodeOf(*config.peer, root)};
}

Result<int> nearestGpu(const api::Functions& cuda, const RdmaGpuBufferConfig& config,
                       const std::string& root) {
  const auto count = countGpus(cuda);
  if(!count)
    return count;
  int nearest = 0;
  std::optional<Rank> best;
  for(int i = 0; i < *count; ++i) {
    const auto gpu = knownGpu(cuda, i);
    if(!gpu)
      return gpu.error();
    const Rank found = rankOf(*gpu, config, root);
    if(!best || found > *best) {
      best = found;
      nearest = i;
    }
  }
  return checkOrdinal(makeCall, nearest, *count);
}

} // namespace

Result<int> countGpus(const api::Functions& cuda) {
  int count{};
  if(const auto got = cuda.call(0, cuda.deviceGetCount, &count); !got)
    return got.error();
  return count;
}

Result<Gpu> describeGpu(const api::Functions& cuda, int ordinal) {
  const auto device = deviceAt(cuda, ordinal);
  if(!device)
    return device.error();
  Gpu gpu{.device = *device, .ordinal = ordinal};
  std::array<char, 256> name{};
  const auto named = cuda.call(0, cuda.deviceGetName, name.data(), static_cast<int>(name.size()), gpu.device);
  if(!named)
    return named.error();
  gpu.name = name.data();
  auto busId = busIdOf(cuda, gpu.device);
  if(!busId)
    return busId.error();
  gpu.busId = *std::move(busId);
  gpu.pci = PciAddress::parse(gpu.busId);
  std::size_t total{};
  if(const auto told = cuda.call(0, cuda.deviceTotalMem, &total, gpu.device); !told)
    return told.error();
  gpu.totalBytes = total;
  if(const auto read = readAttributes(cuda, gpu); !read)
    return read.error();
  if(gpu.pci)
    gpu.bar1Bytes = bar1Window(*gpu.pci);
  return gpu;
}

Result<Gpu> knownGpu(const api::Functions& cuda, int ordinal) {
  Known& known = knownGpus();
  const std::lock_guard lock{known.mutex};
  if(const auto found = known.gpus.find(ordinal); found != known.gpus.end())
    return found->second;
  auto gpu = describeGpu(cuda, ordinal);
  if(gpu)
    known.gpus.emplace(ordinal, *gpu);
  return gpu;
}

void pretendGpu(const Gpu& gpu) {
  Known& known = knownGpus();
  const std::lock_guard lock{known.mutex};
  known.gpus.insert_or_assign(gpu.ordinal, gpu);
}

void forgetGpus() noexcept {
  Known& known = knownGpus();
  const std::lock_guard lock{known.mutex};
  known.gpus.clear();
}

Result<int> chooseGpu(const api::Functions& cuda, const RdmaGpuBufferConfig& config,
                      const std::string& root) {
  if(config.peer && config.gpu.empty() && config.cudaDevice == 0)
    return nearestGpu(cuda, config, root);
  return chooseGpu(makeCall, cuda, config.gpu, config.cudaDevice);
}

Result<int> chooseGpu(const char* call, const api::Functions& cuda, const GpuSelector& named, int otherwise) {
  if(named.luid) // Windows' way
    return libraryError(call, LibraryCode::PlatformLacks);
  const auto count = countGpus(cuda);
  if(!count)
    return count;

  std::vector<int> answers;
  if(named.ordinal || named.empty()) {
    const auto ordinal = checkOrdinal(call, named.ordinal.value_or(otherwise), *count);
    if(!ordinal)
      return ordinal;
    answers.push_back(*ordinal);
  }
  if(named.pci) {
    const auto at = findGpu(call, cuda, *count, [&](api::Device device) -> Result<bool> {
      const auto busId = busIdOf(cuda, device);
      if(!busId)
        return busId.error();
      return PciAddress::parse(*busId) == named.pci;
    });
    if(!at)
      return asNamed(at.error(), named);
    answers.push_back(*at);
  }
  if(named.uuid) {
    const auto at = findGpu(call, cuda, *count, [&](api::Device device) -> Result<bool> {
      api::Uuid uuid;
      if(const auto got = cuda.call(0, cuda.deviceGetUuid, &uuid, device); !got)
        return got.error();
      return std::equal(named.uuid->begin(), named.uuid->end(), uuid.bytes);
    });
    if(!at)
      return asNamed(at.error(), named);
    answers.push_back(*at);
  }
  if(std::any_of(answers.begin(), answers.end(), [&](int i) { return i != answers.front(); }))
    return libraryError(call, LibraryCode::GpuSelectorConflict);
  return answers.front();
}

Result<void> checkExportable(const Gpu& gpu) {
  if(gpu.dmaBuf)
    return {};
  Error error = libraryError("CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED", LibraryCode::NotExportable);
  error.device = gpu.ordinal;
  return error;
}

Error whyNotVmm(const Gpu& gpu) {
  if(gpu.vmm)
    return notCapable("CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED", gpu);
  Error error =
      libraryError("CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", LibraryCode::VmmAbsent);
  error.device = gpu.ordinal;
  return error;
}

Result<CudaMemory> chooseMemory(const Gpu& gpu, CudaMemory asked, GpuRdma rdma) {
  if(gpu.integrated) {
    Error error = libraryError(makeCall, LibraryCode::IntegratedGpu);
    error.device = gpu.ordinal;
    return error;
  }
  if(asked == CudaMemory::Vmm && !gpu.vmm)
    return whyNotVmm(gpu);
  if(rdma != GpuRdma::Require && asked != CudaMemory::Auto)
    return asked;
  if(rdma == GpuRdma::Off || (rdma == GpuRdma::Try && !gpu.rdma))
    return gpu.vmm ? CudaMemory::Vmm : CudaMemory::MemAlloc;
  if(!gpu.rdma)
    return notCapable("CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED", gpu);
  if(asked == CudaMemory::MemAlloc)
    return asked;
  if(gpu.vmm && gpu.rdmaWithVmm)
    return CudaMemory::Vmm;
  if(asked == CudaMemory::Vmm)
    return whyNotVmm(gpu);
  return CudaMemory::MemAlloc;
}

} // namespace rdmagpu::backend::cuda
