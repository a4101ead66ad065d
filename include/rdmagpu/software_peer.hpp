#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/handoff.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace rdmagpu {

class CopyQueue;
class SlotRing;

/// Frames a second as a fraction: 59.94 is {60000, 1001}. {0, 1}: as fast as it can, no clock.
struct FrameRate {
  std::uint32_t numerator{};
  std::uint32_t denominator{1}; ///< Never 0.
  bool paced() const noexcept { return numerator != 0; }
};

/// What a software peer does wrong on purpose, so that a consumer's checks can be tried. Once, but for
/// Migrate.
enum class Misbehaviour : std::uint8_t {
  None,
  Stop, ///< Stops without a word at the frame: its side of the ring stays open until stop().
  Tear, ///< Moves the frame's first half only, and passes it on as if it were whole.
  /// Capture: publishes the frame, and writes its last 64 bytes only when the next frame is due.
  /// Playout: gives the slot back, and reads them only when it has the next frame.
  WriteLate,
  /// Capture: changes the byte behind the frame too. Playout: reads it too. Never beyond the slot: a
  /// frame that fills its slot passes as it is.
  Overrun,
  /// Takes a slot and never gives it back. The frame is lost: a drop in capture, never seen by the
  /// sink in playout. With one slot nothing moves any more.
  Hold,
  /// Capture: writes the frame into the next slot, which is the first behind the last, and publishes its
  /// own, untouched, as if the frame were there. Playout: reads the next slot instead. A frame passes as
  /// it is where that slot is too small for it, or the same.
  WrongSlot,
  /// Capture: goes on behind the end of its slot and changes the first 64 bytes of the next one. Playout:
  /// reads them too. Never beyond the slots: a frame in the last one passes as it is.
  OverrunSlot,
  /// From that frame on, as a peer whose pages were moved behind its back. Capture: writes to memory of its
  /// own that is no slot, and publishes as if nothing had happened. Playout: shows the sink what its own
  /// memory last held, zeros at first, and reads no slot.
  Migrate,
};

/// Where a capturing peer's frames come from. Called on the peer's thread, in order; may block, which
/// delays stop() too. An exception ends the peer with PeerCallbackThrew, or OutOfMemory.
class RDMAGPU_API FrameSource {
public:
  virtual ~FrameSource() = default;
  /// The next frame; an empty span ends the stream. Valid until the next call, or for framesKept() calls
  /// more.
  virtual std::span<const std::byte> next() = 0;
  /// A constant. How many frames may be on their way through a CopyQueue when the next one is asked for: a
  /// peer that uses one waits until its copies of all older frames are over. With 0 it copies one at a time.
  virtual std::size_t framesKept() const noexcept { return 0; }
};

/// Where a playing-out peer's frames go. Called on the peer's thread, in order, after the slot was given
/// back; may block, and throw, like a FrameSource.
class RDMAGPU_API FrameSink {
public:
  virtual ~FrameSink() = default;
  /// A frame as the peer read it from the slot, in the peer's own memory; valid for the call.
  /// Returning false ends the peer.
  virtual bool frame(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes) = 0;
};

/// One slot as the peer sees it: nothing but a handoff.
struct PeerSlot {
  Handoff handoff;
  std::size_t size{}; ///< Bytes that the peer may touch.
};

struct SoftwarePeerConfig {
  std::span<const PeerSlot> slots{}; ///< Copied. Slot i of the ring is slots[i].
  FrameRate rate{};
  Misbehaviour misbehaviour{};
  /// The frame, counted from 0, at which it does, or begins to. What is done once is not done at all if that
  /// frame is lost for want of a slot.
  std::uint64_t misbehaveAt{};
  std::size_t sliceBytes{}; ///< Capture: publish early and advance by slices of this size. 0: whole frames.
  /// Reach the slots through this queue of their buffer, whatever their handoffs are: a GPU's by its copy
  /// engine, since a CPU cannot address them. Borrowed for as long as the peer lives, or a ring has slots
  /// that wait for its copies. Null: the CPU copies.
  CopyQueue* copyThrough{};
  /// Capture: asked on the peer's thread for the memory of each slot that was acquired, and again when the
  /// ring calls a frame Faulty, which is then written again (StagedBuffer::handoff(); FaultPolicy::FailOver).
  /// Other memory than that of `slots` is written as it should be, whatever the misbehaviour, and if the CPU
  /// can address it, by the CPU. Each frame is published once its copy is over. Empty: `slots` stay what they
  /// are, and a Faulty frame ends the peer with PeerCannotAddress.
  std::function<PeerSlot(std::uint32_t slot)> slotNow{};
};

/// What a peer has done since it was started.
struct PeerCounters {
  std::uint64_t frames{}; ///< Written (capture) or read (playout).
  std::uint64_t bytes{};
  std::uint64_t missed{}; ///< Clock ticks at which there was no slot (capture) or no frame (playout).
  Error error{};          ///< Why it stopped early; kind None otherwise.
  bool finished{};        ///< Its thread is at its end.
};

/// A card that exists only in software. It knows nothing of a buffer but the handoffs of its slots,
/// and writes or reads only what a CPU can address. Proves this library's own plumbing, not a
/// hardware path: Agent::Software.
///
/// With SoftwarePeerConfig::copyThrough it is still no device: it asks the GPU's copy engine to move the
/// bytes (Agent::CopyEngine). Without a clock it has several frames under way at once; when it plays out,
/// under RingPolicy::Fifo only. Slots change hands when their copies are done; the peer waits for the oldest
/// and notifies the ring. A copy that fails ends the peer, with the error in the counters; what was published
/// since it was begun may be wrong.
///
/// Ring, source and sink are borrowed from a start...() until stop(), wait() or destruction; the
/// memory behind the handoffs for as long as the peer lives. stop(), wait() and counters() may be
/// called by any thread, also while another waits; the other members by one at a time.
///
/// Owns one thread, from a start...() to stop(), wait() or destruction, which join it. No signal of
/// the process is delivered to that thread. Move-only: a running peer runs on in its new place. A
/// peer that was moved from has no slots, and its calls fail with SlotCountZero.
///
/// A paced peer's clock starts with its first frame; frame n is due n * denominator / numerator
/// seconds later, to the nanosecond, however long it runs. One that is late makes up for it: no
/// frame shifts those after it.
class RDMAGPU_API SoftwarePeer {
public:
  /// Touches nothing yet. A handoff that the CPU cannot address is refused with PeerCannotAddress, unless
  /// there is a queue, one without address or size with PeerSlotEmpty; Error::slot names it.
  static Result<SoftwarePeer> make(const SoftwarePeerConfig&);
  ~SoftwarePeer();
  SoftwarePeer(SoftwarePeer&&) noexcept;
  SoftwarePeer& operator=(SoftwarePeer&&) noexcept;

  /// Capture: writes the source's frames into the ring's slots as its producer. Ends with
  /// closeProducer() when the source or the consumer does, or when a frame is larger than its slot
  /// (RangeOutOfSlot in the counters). A paced peer that finds no free slot counts a drop and loses
  /// the frame; an unpaced one waits. A frame's timestamp is the time of std::chrono::steady_clock, in
  /// nanoseconds, just before its first slice can be read; through a queue, when the copy of a whole frame
  /// was begun.
  ///
  /// Refused with PeerRunning while it runs, and with RingLargerThanPeer.
  Result<void> startCapture(SlotRing&, FrameSource&);
  /// Playout: takes the ring's frames as its consumer, reads each into its own memory, gives the slot
  /// back and hands the frame to the sink. Ends with closeConsumer() when the producer or the sink
  /// does, or when there is no memory for the peer (OutOfMemory in the counters). A paced peer that finds
  /// no frame counts an underrun and goes on; before the first one it waits. Through the queue of a GPU's
  /// slots it reads into memory pinned for that GPU; where that is refused, the log sink is told.
  Result<void> startPlayout(SlotRing&, FrameSink&);
  /// Closes the peer's side of the ring, which ends its sleeps and waits at once, and joins the thread.
  /// A frame that was published in part is still written to its end, though a consumer that waits for
  /// it may learn of the close first. Idempotent.
  void stop() noexcept;
  /// Waits until the thread has come to its end by itself, and joins it.
  void wait() noexcept;
  PeerCounters counters() const noexcept;

  /// Writes to, or reads from, one slot, without a ring, and returns when done: what verify() is made of.
  /// A range that passes the end of the slot is refused and moves nothing.
  Result<void> write(std::uint32_t slot, std::size_t offset, std::span<const std::byte> from) const;
  Result<void> read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const;

private:
  struct Impl;
  explicit SoftwarePeer(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
