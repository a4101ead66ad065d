#include <backend/cuda_budget.hpp>
#include <backend/cuda_context.hpp>
#include <base/log.hpp>
#include <driver/nvml.hpp>
#include <os/library.hpp>
#include <os/pci.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace rdmagpu::backend::cuda {
namespace {

namespace nvml = driver::nvml;

struct Management {
#ifdef _WIN32
  static constexpr const char* soname = "nvml.dll";
#else
  static constexpr const char* soname = "libnvidia-ml.so.1";
#endif
  Result<os::Library> library = os::Library::open(soname); // what the loader refers to
  std::optional<nvml::Functions> functions;

  Management() noexcept {
    if(!library)
      return;
    functions.emplace(*library);
    if(functions->load.missing() || functions->init() != nvml::Status::Success)
      functions.reset();
  }
};

/// By ordinal, and there until the very end of the process, when the last memory may go. Of more GPUs than
/// that some share a count.
std::array<std::atomic<std::uint64_t>, 64> reachable{};

std::atomic<std::uint64_t>& reachableOn(int ordinal) noexcept {
  return reachable[static_cast<std::size_t>(ordinal) % reachable.size()];
}

/// What this process does not hold of the window.
std::uint64_t leftOfWindow(const Gpu& gpu) noexcept {
  return gpu.bar1Bytes - std::min(gpu.bar1Bytes, reachableOn(gpu.ordinal).load());
}

/// Null when it is not installed, is too old, or does not start. Loaded once and never shut down.
const nvml::Functions* management() noexcept {
  static const Management loaded;
  return loaded.functions ? &*loaded.functions : nullptr;
}

/// The device as that library knows it; null when it does not.
nvml::Device find(const nvml::Functions& library, const Gpu& gpu) noexcept {
  nvml::Device device{};
  const auto status = library.deviceGetHandleByPciBusId(gpu.busId.c_str(), &device);
  return status == nvml::Status::Success ? device : nullptr;
}

/// What the driver tells, in a context of the GPU that is there already. Empty where none is: one would take
/// half a gigabyte of what is asked for.
Result<std::optional<std::uint64_t>> freeInSomeContext(const Gpu& gpu) noexcept {
  const auto current = currentIsOn(gpu.device);
  if(!current)
    return current.error();
  const auto primary = *current ? Result<bool>{false} : primaryIsActive(gpu.device);
  if(!primary)
    return primary.error();
  if(!*current && !*primary)
    return std::optional<std::uint64_t>{};
  std::uint64_t free{};
  const ContextSource contexts{gpu.device};
  const auto told = contexts.run(Keep::No, [&] { return readFreeBytes(free); });
  if(!told)
    return told.error();
  return std::optional{free};
}

} // namespace

std::uint64_t bar1Window(const PciAddress& gpu, const std::string& root) {
  std::uint64_t window = 0;
  // What NVIDIA calls BAR1 follows BAR0, which takes up two of the kernel's numbers where it is of 64 bits.
  for(int bar = 1; window == 0 && bar <= 2; ++bar)
    window = os::barBytes(gpu, bar, root);
  return window;
}

Bar1 readBar1(const Gpu& gpu) {
  if(gpu.bar1Bytes >= gpu.totalBytes)
    return {.bytes = gpu.bar1Bytes, .coversMemory = true};
  const nvml::Functions* library = management();
  const nvml::Device device = library ? find(*library, gpu) : nullptr;
  nvml::Bar1Memory bar1; // not to be asked of every GPU
  if(!device || library->deviceGetBar1MemoryInfo(device, &bar1) != nvml::Status::Success || bar1.total == 0)
    return gpu.bar1Bytes == 0 ? Bar1{} : Bar1{.bytes = gpu.bar1Bytes, .freeBytes = leftOfWindow(gpu)};
  return {.bytes = bar1.total, .freeBytes = bar1.free};
}

ReachableMemory countReachable(const Gpu& gpu, std::uint64_t bytes) noexcept {
  reachableOn(gpu.ordinal) += bytes;
  return ReachableMemory{Reachable{gpu.ordinal, bytes}};
}

void ReachableTraits::close(Reachable memory) noexcept { reachableOn(memory.ordinal) -= memory.bytes; }

std::optional<std::uint64_t> freeBytes(const Gpu& gpu) noexcept {
  const nvml::Functions* library = management();
  const nvml::Device device = library ? find(*library, gpu) : nullptr;
  nvml::Memory memory;
  if(device && library->deviceGetMemoryInfo(device, &memory) == nvml::Status::Success)
    return memory.free;
  const auto told = freeInSomeContext(gpu);
  if(told)
    return *told;
  log(LogLevel::Warning, "nobody tells how much of a GPU's memory is free", told.error());
  return {};
}

} // namespace rdmagpu::backend::cuda
