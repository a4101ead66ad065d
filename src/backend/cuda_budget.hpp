#pragma once
#include <backend/cuda_gpu.hpp>
#include <base/align.hpp>
#include <base/unique.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::backend::cuda {

/// BAR1, the window through which peers reach a GPU's memory.
struct Bar1 {
  std::uint64_t bytes{}; ///< 0: not known.
  bool coversMemory{};   ///< All of it: then the memory runs out before the window.
  /// Of a window that does not cover it: as the management library tells, else all that this process does not
  /// hold reachable itself.
  std::optional<std::uint64_t> freeBytes{};
};

/// How large the window is, as the kernel tells; 0 where it does not. `root` replaces "/".
std::uint64_t bar1Window(const PciAddress& gpu, const std::string& root = "");

/// Only where the kernel's window is smaller than the memory, or unknown, is NVIDIA's management library
/// asked: starting that takes 10 ms, and asking for BAR1 160 us each time, which is more than most buffers
/// take to create.
Bar1 readBar1(const Gpu&);

/// What slots can have of so many bytes: memory of virtual memory management comes in whole granules, and
/// cuMemAlloc's takes a page more.
constexpr std::uint64_t usableOf(std::uint64_t bytes, CudaMemory kind, std::uint64_t granularity) noexcept {
  return kind == CudaMemory::Vmm ? bytes / granularity * granularity
                                 : bytes - (bytes < gpuPageBytes ? bytes : gpuPageBytes);
}

/// Memory of a GPU that peers may reach, counted for as long as it is there.
struct Reachable {
  int ordinal{};
  std::uint64_t bytes{};
  bool operator==(const Reachable&) const noexcept = default;
};
struct ReachableTraits {
  using Type = Reachable;
  static constexpr Type empty() noexcept { return {}; }
  static void close(Type) noexcept;
};
using ReachableMemory = Unique<ReachableTraits>;

ReachableMemory countReachable(const Gpu&, std::uint64_t bytes) noexcept;

/// How many bytes of a GPU's memory are free, as the management library tells, which needs no context. Where
/// that is not installed, or does not know, as the driver tells in the context that the caller has current on
/// that GPU, or in its primary one if somebody has retained that; none is made for it. Empty where there is
/// none.
std::optional<std::uint64_t> freeBytes(const Gpu&) noexcept;

} // namespace rdmagpu::backend::cuda
