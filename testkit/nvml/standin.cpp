// A software device: NVIDIA's management library, as far as rdmagpu asks it, for GPUs without hardware.
#include <driver/nvml.hpp>
#include <profiles.hpp>

#include <atomic>
#include <cstdint>

namespace {

using namespace rdmagpu::driver::nvml;

std::atomic<const rdmagpu::standin::Profile*> profile{&rdmagpu::standin::profileAtStart("h200")};
std::atomic<std::uint64_t> freeMemory{profile.load()->memory};
std::atomic<std::uint64_t> freeBar1{profile.load()->bar1};
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
  const std::uint64_t total = profile.load()->memory;
  *memory = {.total = total, .free = freeMemory, .used = total - freeMemory};
  return answer();
}

RDMAGPU_STANDIN_API Status nvmlDeviceGetBAR1MemoryInfo(Device, Bar1Memory* bar1) {
  const std::uint64_t total = profile.load()->bar1;
  *bar1 = {.total = total, .free = freeBar1, .used = total - freeBar1};
  return answer();
}

/// What GPUs the machine has from now on, with all of their memory free; an empty name: those that it
/// started with.
RDMAGPU_STANDIN_API void rdmagpu_standin_nvml_profile(const char* name) {
  profile = *name ? &rdmagpu::standin::profileNamed(name) : &rdmagpu::standin::profileAtStart("h200");
  freeMemory = profile.load()->memory;
  freeBar1 = profile.load()->bar1;
}

/// What is free from now on, in bytes.
RDMAGPU_STANDIN_API void rdmagpu_standin_nvml_free(std::uint64_t memory, std::uint64_t bar1) {
  freeMemory = memory;
  freeBar1 = bar1;
}

/// Whether it answers; if not, as on a system without it.
RDMAGPU_STANDIN_API void rdmagpu_standin_nvml_answers(int yes) { answers = yes != 0; }
