#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/frame_proof.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rdmagpu {

namespace core {
struct RingAccess;
} // namespace core

/// Which frame the consumer gets.
enum class RingPolicy : std::uint8_t {
  Fifo,   ///< Every frame, in order. A producer that finds no free slot must wait or lose its frame.
  Newest, ///< The newest; older ones are dropped. A producer that finds no free slot takes back the oldest
          ///< unread one.
};

/// How a call on the ring ended. Only `Ok` moved a slot.
enum class RingStatus : std::uint8_t {
  Ok,
  Empty,  ///< Nothing to be had now: no free slot, or no frame.
  Closed, ///< A side has ended. The consumer learns of the producer's end when every frame was taken.
  Misuse, ///< The slot is not this caller's to give: out of range, or in another state. Nothing changed.
  Faulty, ///< FaultPolicy::FailOver: the frame is not in the slot. The slot is still the producer's, and
          ///< other memory now: ask for its handoff, write the frame again, or abandon() it and countDrop().
};

/// Says when the work on a slot is done, so that the slot changes hands then and not when the CPU
/// says so. Copy::completion() and CudaCompletions make some. `context` must stay valid until `done` has
/// returned true, or the ring is gone.
struct RingCompletion {
  void* context{};
  /// True once the work is done; then never asked again. Called often, by one thread at a time, from
  /// the calls of the side that wants the slot (under Newest, of both sides: the producer may want the
  /// frame back), or by the thread of a StagedBuffer. It must not block or call the ring. Null: done at once.
  bool (*done)(void* context) noexcept = nullptr;
};

/// A frame in a slot.
struct RingFrame {
  std::uint32_t slot{};
  std::uint64_t sequence{}; ///< Counts frames from 0, those lost by the producer too: a gap is a loss.
  std::int64_t timestamp{}; ///< The producer's; the ring only carries it.
  std::size_t bytes{};      ///< Of the whole frame.
  std::size_t bytesReady{}; ///< How many of them could be read when the frame was taken.
  FrameFault fault{};       ///< What SlotRingConfig::proof found. None without one; of a frame that was
                            ///< published in part SlotRing::fault() tells, once it is whole.
};

/// Each exact and never falling, but read one after the other: they need not fit together while the
/// ring runs. Once it rests, published + countDrop() calls = taken + drops + frames still in the ring.
struct RingCounters {
  std::uint64_t published{};
  std::uint64_t taken{};
  std::uint64_t drops{}; ///< Frames that no consumer got: countDrop(), those that Newest skipped, and those
                         ///< that FaultPolicy::Drop kept back.
  std::uint64_t underruns{}; ///< countUnderrun().
};

struct SlotRingConfig {
  std::uint32_t slotCount{};
  RingPolicy policy{RingPolicy::Fifo};
  /// Proves every frame, for a producer that is a peer: a slot is armed when it is acquired, and checked when
  /// the producer says that its frame is whole or, of one with a completion, when it is taken. On a GPU a
  /// frame costs its producer one launch: publish() starts the check, and the arming of a free slot that is
  /// handed out after the next; taking the frame waits for what was found, and acquiring only where no slot
  /// was free before. Where a direct path may fail over, publish() waits. Borrowed for as long as the ring,
  /// with as many slots at least. Null: nobody looks.
  FrameProof* proof{};
};

/// The hand-over of N slots between one producer and one consumer, each on its own thread.
///
/// Works both ways. Capture: the card is the producer, the application the consumer. Playout: the
/// application is the producer, and the card takes each frame and releases its slot once it has been
/// sent; a slot that the card may still read is never handed to the producer. Knows slots by number
/// only and touches no memory of theirs.
///
/// The producer's members may be called by one thread at a time, the consumer's by one thread at a
/// time; the two sides need no further lock. counters(), bytesReady() and close...() may be called
/// by any thread. A slot goes Free -> acquire -> publish -> take -> release -> Free.
///
/// No call but make() allocates; those that do not wait make no system call unless the other side is
/// blocked. A wait spins for a microsecond or two before it sleeps.
///
/// Move-only; must not be moved while in use. Empty after a move: it has no slots, and its calls
/// answer Misuse.
class RDMAGPU_API SlotRing {
public:
  /// All slots are free. Fails with SlotCountZero, RingLargerThanProof, or OutOfMemory.
  static Result<SlotRing> make(const SlotRingConfig&);
  ~SlotRing();
  SlotRing(SlotRing&&) noexcept;
  SlotRing& operator=(SlotRing&&) noexcept;

  std::uint32_t slotCount() const noexcept;
  RingPolicy policy() const noexcept;
  RingCounters counters() const noexcept;

  // The producer's side.

  /// Takes a free slot to write to, the one that was freed last, for caches may still hold it; on a GPU one
  /// that was armed before. Empty when there is none, Closed once either side has closed. In both cases
  /// `slot` is left as it was.
  RingStatus tryAcquire(std::uint32_t& slot) noexcept;
  /// The same, waiting at most that long for one; a negative time waits without limit.
  RingStatus acquire(std::uint32_t& slot, std::chrono::nanoseconds timeout) noexcept;
  /// Gives a slot that was acquired back unused. Works on a closed ring too.
  RingStatus abandon(std::uint32_t slot) noexcept;
  /// Hands a frame of `bytes` bytes over. With `bytesReady` below `bytes` the rest follows through
  /// advance(), and the slot is not handed out again before it has, even if the frame was released or
  /// skipped meanwhile. The frame can be taken once `completion` is done. Closed once either side has
  /// closed: the slot stays the producer's. Faulty: see there.
  RingStatus publish(std::uint32_t slot, std::int64_t timestamp, std::size_t bytes, std::size_t bytesReady,
                     RingCompletion completion = {}) noexcept;
  RingStatus publish(std::uint32_t slot, std::int64_t timestamp, std::size_t bytes,
                     RingCompletion completion = {}) noexcept {
    return publish(slot, timestamp, bytes, bytes, completion);
  }
  /// Says that the first `bytesReady` bytes of a frame that was published in part can be read now.
  /// Misuse for less than before, more than the frame has, or a frame that is whole already.
  RingStatus advance(std::uint32_t slot, std::size_t bytesReady) noexcept;
  /// Counts a frame that was lost for want of a slot; its sequence number is used up.
  void countDrop() noexcept;
  /// No more frames will come: the consumer takes what there is, then finds the ring Closed. Wakes
  /// whoever waits, on either side.
  void closeProducer() noexcept;

  // The consumer's side.

  /// Takes the next frame, or the newest whose completion is done, as the policy says. Empty when none
  /// is there or, under Fifo, the next one's completion is not done: order is kept. `frame` is left as
  /// it was unless the answer is Ok.
  RingStatus tryTake(RingFrame& frame) noexcept;
  /// The same, waiting at most that long for one; a negative time waits without limit.
  RingStatus take(RingFrame& frame, std::chrono::nanoseconds timeout) noexcept;
  /// How many bytes of a frame that was taken can be read now; 0 for a slot that is not taken.
  std::size_t bytesReady(std::uint32_t slot) const noexcept;
  /// Waits until at least `bytes` bytes of a taken frame can be read, like take(). Empty when the time
  /// is up, Closed when either side ended without them, Misuse when the frame has fewer.
  RingStatus waitBytes(std::uint32_t slot, std::size_t bytes, std::chrono::nanoseconds timeout) noexcept;
  /// What the proof has found of a frame that was taken; None without a proof, and before the frame is whole.
  FrameFault fault(std::uint32_t slot) const noexcept;
  /// Gives a slot back, on a closed ring too. It is handed to the producer again once `completion` is
  /// done and, when the frame was published in part, the producer has written all of it; slots that
  /// are free already do not wait for it.
  RingStatus release(std::uint32_t slot, RingCompletion completion = {}) noexcept;
  /// Counts a moment at which the consumer needed a frame and there was none.
  void countUnderrun() noexcept;
  /// No more frames are wanted: the producer finds the ring Closed at once, and so does the consumer.
  /// Wakes whoever waits, on either side. Frames in the ring stay there and count as nothing.
  void closeConsumer() noexcept;

  /// Wakes whoever waits, so that completions are asked again. For the thread, callback or
  /// interrupt handler that knows of one: waiting calls otherwise ask only every millisecond.
  void notify() noexcept;

private:
  friend struct core::RingAccess;
  struct Impl;
  explicit SlotRing(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
