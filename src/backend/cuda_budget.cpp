#include <backend/cuda_budget.hpp>
#include <base/log.hpp>
#include <driver/nvml.hpp>
#include <os/library.hpp>

#include <algorithm>

namespace rdmagpu::backend::cuda {
namespace {

namespace nvml = driver::nvml;

/// Null when it is not installed, is too old, or does not start. Loaded once and never shut down.
const nvml::Functions* management() noexcept {
  static const std::optional<nvml::Functions> loaded = []() -> std::optional<nvml::Functions> {
    auto library = os::Library::open("libnvidia-ml.so.1");
    if(!library)
      return {};
    const nvml::Functions functions{*library};
    if(functions.load.missing() || functions.init() != nvml::Status::Success)
      return {};
    return functions;
  }();
  return loaded ? &*loaded : nullptr;
}

std::optional<std::uint64_t> managedFreeBytes(const Gpu& gpu) noexcept {
  const nvml::Functions* library = management();
  nvml::Device device{};
  nvml::Memory memory;
  if(!library || library->deviceGetHandleByPciBusId(gpu.busId.c_str(), &device) != nvml::Status::Success ||
     library->deviceGetMemoryInfo(device, &memory) != nvml::Status::Success)
    return {};
  nvml::Bar1Memory bar1; // not to be asked of every GPU: then the memory alone is the limit
  if(library->deviceGetBar1MemoryInfo(device, &bar1) != nvml::Status::Success || bar1.total == 0)
    return memory.free;
  return std::min(memory.free, bar1.free);
}

} // namespace

std::optional<std::uint64_t> freeBytes(const Gpu& gpu) {
  if(const auto free = managedFreeBytes(gpu))
    return free;
  const api::Functions& cuda = loadedDriver();
  std::size_t total{};
  if(const auto told = cuda.call(0, cuda.deviceTotalMem, &total, gpu.device); !told) {
    log(LogLevel::Warning, "the size of the GPU's memory is not known", told.error());
    return {};
  }
  return total;
}

} // namespace rdmagpu::backend::cuda
