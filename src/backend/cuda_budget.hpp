#pragma once
#include <backend/cuda_gpu.hpp>

#include <cstdint>
#include <optional>

namespace rdmagpu::backend::cuda {

/// How many bytes can be allocated on that GPU now and reached by a peer: the smaller of the free
/// memory and the free BAR1 space, as NVIDIA's management library tells, which needs no context.
/// Where that library is not installed, all the memory that the GPU has.
std::optional<std::uint64_t> freeBytes(const Gpu&);

} // namespace rdmagpu::backend::cuda
