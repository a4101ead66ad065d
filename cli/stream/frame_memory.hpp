#pragma once
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>

namespace rdmagpu::cli {

/// The GPU whose copy engine reads and writes frames; empty: none does.
using CopyingGpu = std::optional<PciAddress>;

/// Host memory for one frame that a GPU's driver pins.
Result<RdmaGpuBuffer> pinnedFrame(std::size_t frameBytes, const PciAddress& gpu, GpuPin pin);

/// Memory for one frame, on a page's boundary as a card's own would be. Not cleared.
class FrameMemory {
public:
  /// Pinned for the GPU, if there is one and it can be. Throws std::bad_alloc.
  explicit FrameMemory(std::size_t bytes, const CopyingGpu& gpu = {});

  std::byte* data() const noexcept {
    return m_data ? m_data.get() : static_cast<std::byte*>(m_pinned.slot(0).gpuVA);
  }

private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, alignment); }
  };
  std::unique_ptr<std::byte, Free> m_data; ///< Null: it is pinned memory.
  RdmaGpuBuffer m_pinned;
};

} // namespace rdmagpu::cli
