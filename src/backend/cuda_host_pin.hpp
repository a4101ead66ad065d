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

  HostPin(api::Device device, bool integrated) noexcept : m_contexts(device), m_integrated(integrated) {}
  HostPin(HostPin&&) = delete;
  ~HostPin();

  /// Whether that GPU has no other memory than the system's, and so works on these pages where they lie.
  bool isOnIntegratedGpu() const noexcept { return m_integrated; }

private:
  ContextSource m_contexts;
  bool m_integrated;
  KnownContext m_context;
  void* m_data{}; ///< Null: not pinned.
};

} // namespace rdmagpu::backend::cuda
