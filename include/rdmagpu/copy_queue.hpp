#pragma once
#include <rdmagpu/cuda_handles.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace rdmagpu {

class RdmaGpuBuffer;

namespace core {
struct CopyQueueAccess;
}

struct CopyQueueOptions {
  std::uint32_t streams{2}; ///< Of the queue's own. Two keep a copy engine busy.
  std::uint32_t depth{64};  ///< Copies under way at most; one more waits for the oldest.
  /// Cuda: copies go through this stream of the caller's, among its other work, and through no other. It
  /// must outlive the queue. CU_STREAM_PER_THREAD is refused: any thread may call a queue.
  std::optional<CudaStream> stream{};
};

/// A copy that a CopyQueue was given. Holds what the queue holds. Copy it freely; any thread may use it.
class RDMAGPU_API Copy {
public:
  /// None: done.
  Copy() noexcept = default;

  /// Whether it is over; one that has failed is. Never blocks.
  bool done() const noexcept;
  /// Waits until it is over. The error is known for as long as the queue has not been given `depth` more
  /// copies; finish() tells of every one.
  Result<void> wait() const noexcept;
  /// For SlotRing::publish() or release() of its slot: done once every copy that the slot was given here
  /// is over, those of later calls included. The queue, or a Copy of it, must live until the ring has
  /// found it done, or is gone.
  RingCompletion completion() const noexcept;

private:
  friend class CopyQueue;
  friend struct core::CopyQueueAccess;
  struct Queue;
  Copy(std::shared_ptr<Queue> queue, std::size_t slot, std::uint64_t number) noexcept;

  std::shared_ptr<Queue> m_queue;
  std::size_t m_slot{};
  std::uint64_t m_number{};
};

/// Copies into and out of slots that go on by themselves, through the GPU's copy engine, while the program
/// does something else. The copies of one slot are done one after the other, in the order of the calls;
/// those of different slots side by side. On host memory and VulkanDmaBuf each call copies at once.
///
/// The caller keeps the host memory of a copy alive and untouched until the copy is over. Memory that is not
/// pinned for the GPU (HostMemory::gpuPin, cuMemHostRegister) is copied slower, and the call may block for as
/// long.
///
/// Holds the slots' region until the queue and every Copy of it is gone; the buffer may go before. Cuda: uses
/// the memory's context, else the one of that GPU that is current in make(), which must then outlive the
/// queue, else the primary one. The caller's current context is the same after every call.
///
/// Any thread may call any member but a move. Nothing but make() allocates. Move-only; empty after a move:
/// its copies fail with BufferEmpty. In a forked child they fail with ForkedChild, and nothing waits.
class RDMAGPU_API CopyQueue {
public:
  static Result<CopyQueue> make(const RdmaGpuBuffer&, const CopyQueueOptions& = {});
  /// Waits until all copies are over; a failure goes to the log sink.
  ~CopyQueue();
  CopyQueue(CopyQueue&&) noexcept;
  CopyQueue& operator=(CopyQueue&&) noexcept;

  /// Starts a copy into the slot. A range that passes the end of the slot is refused; an error means that
  /// nothing is under way.
  Result<Copy> upload(std::size_t slot, std::span<const std::byte> from, std::size_t offset = 0);
  /// Starts a copy out of the slot.
  Result<Copy> download(std::size_t slot, std::span<std::byte> to, std::size_t offset = 0);
  /// Waits until all copies are over, and returns the first failure since the last finish().
  Result<void> finish() noexcept;

private:
  friend struct core::CopyQueueAccess;
  explicit CopyQueue(std::shared_ptr<Copy::Queue>) noexcept;
  std::shared_ptr<Copy::Queue> m_queue;
};

} // namespace rdmagpu
