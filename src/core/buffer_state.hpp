#pragma once
#include <backend/backend.hpp>
#include <core/slot_layout.hpp>
#include <os/fd.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace rdmagpu::core {

using backend::RegionPtr;

/// What a valid RdmaGpuBuffer holds. Constant after building, but for the export made on demand.
struct BufferState {
  SlotLayout layout;
  std::vector<RegionPtr> regions; ///< One for all slots, or one for each.
  BufferFacts facts;
  std::vector<Rejected> selection;

  std::uint64_t process{}; ///< That it was made in: os::currentProcess().

  std::mutex exportMutex;
  backend::ExportedFd regionExport; ///< Made once; every exportRegion() duplicates it. Under exportMutex.
  std::atomic<Answer> exported{Answer::Unknown};

  const RegionPtr& regionOf(std::size_t slot) const noexcept {
    return regions[regions.size() == 1 ? 0 : slot];
  }
  std::size_t offsetInRegion(std::size_t slot) const noexcept {
    return regions.size() == 1 ? layout.offset(slot) : 0;
  }
};

/// What the other files of this folder may do with a buffer.
struct BufferAccess {
  static RdmaGpuBuffer make(std::unique_ptr<BufferState>) noexcept;
  static const BufferState* state(const RdmaGpuBuffer& buffer) noexcept { return buffer.m_state.get(); }
  static SharedBuffer share(const BufferState&, os::Fd) noexcept;
};

/// Allocates what the config asks for, all or nothing. `call` is the public function to name in an error.
Result<std::unique_ptr<BufferState>> build(const char* call, const RdmaGpuBufferConfig&);

/// The same on one device that is open already.
Result<std::unique_ptr<BufferState>> buildOn(const char* call, RdmaGpuApi, backend::Device&,
                                             const RdmaGpuBufferConfig&);

/// Completes a state whose layout and regions are there: the sizes, and what each region knows of itself.
void describe(BufferState&, RdmaGpuApi);

/// How many slots fit the memory that is free now.
Result<std::uint32_t> countSlotsThatFit(const char* call, const RdmaGpuBufferConfig&);

} // namespace rdmagpu::core
