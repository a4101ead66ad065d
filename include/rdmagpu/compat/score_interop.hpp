#pragma once
#include <rdmagpu/rdma_gpu_buffer.hpp>

/// The names under which ossia score documents this allocator.
namespace score::gfx::interop {
using rdmagpu::RdmaGpuApi;
using rdmagpu::RdmaGpuBuffer;
using rdmagpu::RdmaGpuBufferConfig;
using rdmagpu::RdmaGpuSlot;
} // namespace score::gfx::interop
