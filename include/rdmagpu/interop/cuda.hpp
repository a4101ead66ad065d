#pragma once
#include <rdmagpu/cuda_handles.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cuda.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <variant>

/// CUDA's own types for what this library calls by its own, for code that has cuda.h. Header only; calls no
/// driver. A cudaStream_t or cudaEvent_t of the CUDA runtime is the same type as a CUstream or CUevent.
namespace rdmagpu::interop {

static_assert(std::is_same_v<CUdeviceptr, unsigned long long> && sizeof(CUdeviceptr) == sizeof(CudaPointer),
              "cuda.h for 64-bit systems");

/// nullopt for a handoff that is no CUDA memory.
inline std::optional<CUdeviceptr> devicePointer(const Handoff& handoff) noexcept {
  const auto* pointer = std::get_if<CudaPointer>(&handoff);
  return pointer ? std::optional<CUdeviceptr>{pointer->value} : std::nullopt;
}

/// Where the slot lies; valid for as long as the slot. nullopt for slots that are no CUDA memory, and for one
/// that is out of range.
inline std::optional<CUdeviceptr> devicePointer(const RdmaGpuBuffer& buffer, std::size_t slot) noexcept {
  return devicePointer(buffer.handoff(slot));
}
std::optional<CUdeviceptr> devicePointer(const RdmaGpuBuffer&& buffer, std::size_t slot) = delete;

inline CudaStream cudaStream(CUstream stream) noexcept { return {stream}; }
inline CudaEvent cudaEvent(CUevent event) noexcept { return {event}; }

} // namespace rdmagpu::interop
