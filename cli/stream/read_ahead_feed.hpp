#pragma once
#include "parse/check_mode.hpp"
#include "stream/frame_feed.hpp"
#include "stream/frame_memory.hpp"
#include "stream/frame_sequence.hpp"
#include "stream/hash.hpp"

#include <rdmagpu/slot_ring.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rdmagpu::cli {

/// Reads the input on a thread of its own, a few frames ahead, and hashes there too, so that neither the
/// disk nor the hash delays whoever fills the slots.
///
/// Keeps the frames that are still to be checked: at most one a slot, one being checked, and a few read
/// ahead. So memory is bounded, and a reader that has run ahead waits. A frame is known to be in the ring,
/// or lost for want of a slot, from the ring's count of published frames when the next one is fetched.
class ReadAheadFeed final : public FrameFeed {
public:
  /// The sequence's reader, the ring and the flag are borrowed. The flag ends every wait here; the
  /// destructor sets it, because a read that blocks looks at nothing else.
  ReadAheadFeed(FrameSequence input, CheckMode check, const SlotRing& ring, std::atomic<bool>& stop,
                const CopyingGpu& gpu = {}, FrameHash hash = hashOf);
  ~ReadAheadFeed() override;
  ReadAheadFeed(const ReadAheadFeed&) = delete;
  ReadAheadFeed& operator=(const ReadAheadFeed&) = delete;

  std::span<const std::byte> next() override;
  std::size_t framesKept() const noexcept override { return m_kept; }
  bool ready(std::chrono::milliseconds timeout) override;
  void expectTake() override;
  std::optional<SourceFrame> source(std::uint64_t sequence) override;
  std::optional<InputError> failure() const override;

private:
  struct Frame {
    FrameMemory memory;
    std::uint64_t sequence{};
    std::uint64_t hash{};
  };
  using Lock = std::unique_lock<std::mutex>;

  void run();
  std::optional<Frame> memoryForOne();
  void finish(std::optional<InputError> failure);
  void settleLast();
  void forgetOvertaken();
  void keepOnlyWanted();
  void reuse(Frame frame);
  SourceFrame view(const Frame& frame) const noexcept {
    return {{frame.memory.data(), m_frameBytes}, frame.hash};
  }
  template <class Condition>
  bool waitFor(Lock& lock, Condition condition, std::chrono::milliseconds timeout);
  template <class Condition>
  void wait(Lock& lock, Condition condition);

  FrameSequence m_input;
  const CheckMode m_check;
  const SlotRing& m_ring;
  std::atomic<bool>& m_stop;
  const CopyingGpu m_gpu;
  const FrameHash m_hash;
  const std::size_t m_kept;
  const std::size_t m_frameBytes;
  const std::size_t m_mostFrames;

  mutable std::mutex m_mutex;
  std::condition_variable m_changed;
  std::size_t m_made{};             ///< Frames of memory that exist, wherever they are.
  std::vector<Frame> m_spare;       ///< Memory without a frame.
  std::deque<Frame> m_read;         ///< Read, not yet handed out.
  std::optional<Frame> m_last;      ///< Handed out last: being written, in the ring, or lost.
  std::vector<Frame> m_resting;     ///< Wanted no more, but perhaps still being copied from.
  std::deque<Frame> m_published;    ///< In the ring or taken, by sequence; those to be checked only.
  std::uint64_t m_calls{};          ///< Of next().
  std::uint64_t m_publishedCount{}; ///< The ring's, when it was looked at last.
  bool m_taking{};
  std::uint64_t m_oldestWanted{};        ///< What was published before this can be taken no more,
  std::optional<std::uint64_t> m_pinned; ///< but for this one, which is being checked.
  bool m_ended{};
  std::optional<InputError> m_failure;
  std::thread m_thread; ///< Last: it uses the others.
};

} // namespace rdmagpu::cli
