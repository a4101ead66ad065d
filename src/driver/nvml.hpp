#pragma once
#include <driver/fn.hpp>

#include <cstdint>

/// NVIDIA's management library as far as it is used here: how much memory is free, without a context.
namespace rdmagpu::driver::nvml {

/// nvmlReturn_t
enum class Status : std::uint32_t { Success = 0, NotSupported = 3 };
constexpr Status notAvailable(Status) noexcept { return Status::NotSupported; }

struct DeviceObject;
using Device = DeviceObject*;

/// nvmlMemory_t
struct Memory {
  std::uint64_t total{};
  std::uint64_t free{};
  std::uint64_t used{};
};

/// nvmlBAR1Memory_t: the window through which peers reach the memory.
struct Bar1Memory {
  std::uint64_t total{};
  std::uint64_t free{};
  std::uint64_t used{};
};

struct Functions {
  explicit Functions(SymbolSource& source) noexcept : load(source) {}

  Loader load;

  // clang-format off
  Fn<"nvmlInit_v2", Status()> init{load};
  Fn<"nvmlDeviceGetHandleByPciBusId_v2", Status(const char*, Device*)> deviceGetHandleByPciBusId{load};
  Fn<"nvmlDeviceGetMemoryInfo", Status(Device, Memory*)> deviceGetMemoryInfo{load};
  Fn<"nvmlDeviceGetBAR1MemoryInfo", Status(Device, Bar1Memory*)> deviceGetBar1MemoryInfo{load};
  // clang-format on
};

} // namespace rdmagpu::driver::nvml
