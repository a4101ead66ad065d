#pragma once
#include <backend/cuda_context.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <memory>

namespace rdmagpu::backend::cuda {

/// Host pages that CUDA's driver has pinned, for every context. Unpinned on destruction; the pages go after.
class HostPin {
public:
  /// In the context that is current on the GPU that the config names; else in its primary one, which stays
  /// retained.
  static Result<std::unique_ptr<HostPin>> pin(void* data, std::size_t bytes, const RdmaGpuBufferConfig&);

  explicit HostPin(api::Device device) noexcept : m_contexts(device) {}
  HostPin(HostPin&&) = delete;
  ~HostPin();

private:
  ContextSource m_contexts;
  api::Context m_context{};
  void* m_data{}; ///< Null: not pinned.
};

} // namespace rdmagpu::backend::cuda
