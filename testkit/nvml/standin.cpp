// A software device: NVIDIA's management library, as far as rdmagpu asks it, for GPUs without hardware.
#include <driver/nvml.hpp>

#include <atomic>
#include <cstdint>

namespace {

using namespace rdmagpu::driver::nvml;

constexpr std::uint64_t total = std::uint64_t{141} << 30;

std::atomic<std::uint64_t> freeMemory{total};
std::atomic<std::uint64_t> freeBar1{std::uint64_t{256} << 30};
std::atomic<bool> answers{true};

Status answer() { return answers ? Status::Success : Status::NotSupported; }

} // namespace

#define RDMAGPU_STANDIN_API extern "C" __attribute__((visibility("default")))

RDMAGPU_STANDIN_API Status nvmlInit_v2() { return Status::Success; }

RDMAGPU_STANDIN_API Status nvmlDeviceGetHandleByPciBusId_v2(const char* busId, Device* device) {
  *device = reinterpret_cast<Device>(&freeMemory); // never looked into
  return busId && *busId ? answer() : Status::NotSupported;
}

RDMAGPU_STANDIN_API Status nvmlDeviceGetMemoryInfo(Device, Memory* memory) {
  *memory = {.total = total, .free = freeMemory, .used = total - freeMemory};
  return answer();
}

RDMAGPU_STANDIN_API Status nvmlDeviceGetBAR1MemoryInfo(Device, Bar1Memory* bar1) {
  *bar1 = {.total = std::uint64_t{256} << 30, .free = freeBar1};
  return answer();
}

/// What is free from now on, in bytes.
RDMAGPU_STANDIN_API void rdmagpu_standin_nvml_free(std::uint64_t memory, std::uint64_t bar1) {
  freeMemory = memory;
  freeBar1 = bar1;
}

/// Whether it answers; if not, as on a system without it.
RDMAGPU_STANDIN_API void rdmagpu_standin_nvml_answers(int yes) { answers = yes != 0; }
