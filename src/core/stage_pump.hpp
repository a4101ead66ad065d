#pragma once
#include <core/ring_stage.hpp>
#include <core/slot_ring_impl.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace rdmagpu::core {

/// Copies between slot i of one buffer and its counterpart in host memory.
struct StageCopies {
  CopyQueue queue;                               ///< Of the application's slots.
  std::vector<std::span<std::byte>> peerSlots{}; ///< Must outlive the queue.
  SlotFlow flow{};

  Result<Copy> start(std::uint32_t slot, std::size_t from, std::size_t to) {
    const auto part = peerSlots[slot].subspan(from, to - from);
    return flow == SlotFlow::Capture ? queue.upload(slot, part, from) : queue.download(slot, part, from);
  }
};

/// The thread of a stage: takes what the ring's producer publishes, copies it, and offers it to the consumer.
class StagePump {
public:
  /// Copies of one frame under way at most: one that moves, and one that follows at once. What comes
  /// meanwhile goes into the next.
  static constexpr std::uint32_t partsAtOnce = 2;

  /// Ring and stage are borrowed, and are each other's.
  StagePump(SlotRing&, RingStage&, StageCopies, std::size_t sliceBytes);
  StagePump(StagePump&&) = delete;
  ~StagePump() { stop(); }

  Result<void> start();
  /// Closes the ring, joins the thread and waits for the copies that it began.
  void stop() noexcept;
  Error error() const noexcept;

private:
  using Clock = std::chrono::steady_clock;

  struct Part {
    Copy copy;
    std::size_t end{}; ///< Where in the frame it ends.
  };
  /// A frame on its way.
  struct Transfer {
    std::uint32_t slot{};
    bool inParts{}; ///< It was not whole when it was published: the consumer expects parts.
    bool filled{};  ///< The producer's completion is done.
    bool offered{}; ///< The consumer may have it already.
    bool proven{};  ///< All that was to be checked of it.
    bool over{};    ///< The slot is not this thread's any more.
    std::size_t bytes{};
    std::size_t ready{};   ///< How many of them were published when that was last looked at,
    std::size_t step{};    ///< and how many had come since the time before.
    std::size_t started{}; ///< Up to here copies were started.
    std::uint32_t parts{}; ///< Copies under way, oldest first.
    std::array<Part, partsAtOnce> part{};
  };

  void run() noexcept;
  bool step() noexcept;
  bool takeUp() noexcept;
  bool advance(Transfer&, bool producerEnded) noexcept;
  bool conclude(Transfer&) noexcept;
  bool look(Transfer&) noexcept;
  bool startPart(Transfer&, bool last) noexcept;
  void prove(Transfer&) noexcept;
  void offer(Transfer&) noexcept;
  bool isFilled(Transfer&) noexcept;
  void fail(Error, std::uint32_t slot) noexcept;
  bool mustAsk() const noexcept;
  bool endIsDue() const noexcept;
  void sleep() noexcept;

  RingAccess::Impl& m_ring;
  RingStage& m_stage;
  StageCopies m_copies;
  const std::size_t m_sliceBytes;
  std::vector<Transfer> m_transfers; ///< In the order of the frames.
  bool m_atEnd{};
  Clock::time_point m_lastMove{};

  mutable std::mutex m_mutex;
  Error m_error{}; ///< Under m_mutex.
  std::uint64_t m_process{};
  std::thread m_thread;
};

} // namespace rdmagpu::core
