#pragma once
#include <rdmagpu/cuda_handles.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <cstdint>
#include <memory>

namespace rdmagpu {

/// Completions of the caller's own work on a GPU, for SlotRing::publish() and release(): a slot that a
/// kernel fills or reads changes hands when the kernel is done. The slots may lie anywhere.
///
/// A slot has one completion at a time, of the last call that named it: call when the slot is the caller's
/// to give, just before giving it. Different slots may be named by several threads at once. Must live until
/// the ring has found its completions done, or is gone; so must the contexts that the work is in, which may
/// go before this then.
///
/// Work that failed is done: the failure goes to the log sink. The caller's current context is the same
/// after every call, the ring's included. Move-only; empty after a move: its calls fail with SlotOutOfRange.
class RDMAGPU_API CudaCompletions {
public:
  /// Fails where there is no CUDA driver, or with SlotCountZero. Touches no GPU.
  static Result<CudaCompletions> make(std::uint32_t slotCount);
  ~CudaCompletions();
  CudaCompletions(CudaCompletions&&) noexcept;
  CudaCompletions& operator=(CudaCompletions&&) noexcept;

  /// Done once all that the stream has been given so far is. Of a default stream: that of the current
  /// context, and CU_STREAM_PER_THREAD is the calling thread's. Without a current context these are refused.
  Result<RingCompletion> after(std::uint32_t slot, CudaStream stream);
  /// Done once the event is; null is refused. It is asked in the context that is current now, if one is, and
  /// must neither be recorded anew nor destroyed before it was found done.
  Result<RingCompletion> after(std::uint32_t slot, CudaEvent event);

private:
  struct Slots;
  explicit CudaCompletions(std::unique_ptr<Slots>) noexcept;
  std::unique_ptr<Slots> m_slots;
};

} // namespace rdmagpu
