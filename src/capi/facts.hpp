#pragma once
#include <rdmagpu/c/buffer.h>
#include <rdmagpu/rdma_gpu_buffer.hpp>

namespace rdmagpu::capi {

/// Its text is that of `facts`.
rdmagpu_facts toC(const BufferFacts& facts) noexcept;

} // namespace rdmagpu::capi
