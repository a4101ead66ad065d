#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/handoff.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rdmagpu {

class SlotRing;

/// Frames a second as a fraction: 59.94 is {60000, 1001}. {0, 1}: as fast as it can, no clock.
struct FrameRate {
  std::uint32_t numerator{};
  std::uint32_t denominator{1};
  bool paced() const noexcept { return numerator != 0; }
};

/// What a software peer does wrong on purpose, so that a consumer's checks can be tried.
enum class Misbehaviour : std::uint8_t {
  None,
  Stop,      ///< Stops without a word at the frame.
  Tear,      ///< Writes the frame's first half and publishes it as if it were whole.
  WriteLate, ///< Publishes the frame, and writes its last bytes only afterwards.
  Overrun,   ///< Writes one byte more than the frame has, if the slot has room; never beyond the slot.
  Hold,      ///< Takes a slot and never gives it back.
};

/// Where a capturing peer's frames come from. Called on the peer's thread, in order.
class RDMAGPU_API FrameSource {
public:
  virtual ~FrameSource() = default;
  /// The next frame; an empty span ends the stream. Valid until the next call.
  virtual std::span<const std::byte> next() = 0;
};

/// Where a playing-out peer's frames go. Called on the peer's thread, in order.
class RDMAGPU_API FrameSink {
public:
  virtual ~FrameSink() = default;
  /// A frame as the peer read it from the slot; valid for the call. Returning false stops the peer.
  virtual bool frame(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes) = 0;
};

/// One slot as the peer sees it: nothing but a handoff.
struct PeerSlot {
  Handoff handoff;
  std::size_t size{}; ///< Bytes that the peer may touch.
};

struct SoftwarePeerConfig {
  std::span<const PeerSlot> slots; ///< Copied. Slot i of the ring is slots[i].
  FrameRate rate{};
  Misbehaviour misbehaviour{};
  std::uint64_t misbehaveAt{}; ///< The frame, counted from 0, at which it does.
  std::size_t sliceBytes{}; ///< Capture: publish early and advance by slices of this size. 0: whole frames.
  std::chrono::nanoseconds patience{std::chrono::milliseconds{
      100}}; ///< Unpaced: how long a wait for the ring lasts before stop() is looked at.
};

/// What a peer has done so far.
struct PeerCounters {
  std::uint64_t frames{}; ///< Written (capture) or read (playout).
  std::uint64_t bytes{};
  std::uint64_t missed{}; ///< Clock ticks at which there was no slot (capture) or no frame (playout).
  Error error{};          ///< Why it stopped early; kind None otherwise.
  bool finished{};        ///< Its thread is at its end.
};

/// A card that exists only in software. It knows nothing of a buffer but the handoffs of its slots,
/// and writes or reads only what a CPU can address: for any other handoff make() answers
/// PeerCannotAddress, and nothing was tried.
///
/// Owns one thread, from a start...() to stop() or destruction, which join it. Ring, source and sink
/// are borrowed until then, and so is the memory behind the handoffs. Proves this library's own
/// plumbing, not a hardware path: Agent::Software.
class RDMAGPU_API SoftwarePeer {
public:
  static Result<SoftwarePeer> make(const SoftwarePeerConfig&);
  ~SoftwarePeer();
  SoftwarePeer(SoftwarePeer&&) noexcept;
  SoftwarePeer& operator=(SoftwarePeer&&) noexcept;

  /// Capture: writes the source's frames into the ring's slots as its producer; a frame larger than a
  /// slot stops it with RangeOutOfSlot. Ends with closeProducer(). A paced peer that finds no free
  /// slot counts a drop and loses the frame; an unpaced one waits.
  Result<void> startCapture(SlotRing&, FrameSource&);
  /// Playout: takes frames from the ring as its consumer, hands each to the sink, and releases it.
  /// Ends when the producer closes, or with closeConsumer() when stopped. A paced peer that finds no
  /// frame counts an underrun and goes on.
  Result<void> startPlayout(SlotRing&, FrameSink&);
  /// Asks the thread to end, and joins it. Idempotent.
  void stop() noexcept;
  /// Waits until the thread has come to its end by itself, and joins it.
  void wait() noexcept;
  PeerCounters counters() const noexcept;

  /// Writes to, or reads from, one slot on the calling thread, without a ring: what verify() is made of.
  Result<void> write(std::uint32_t slot, std::size_t offset, std::span<const std::byte> from) const;
  Result<void> read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const;

private:
  struct Impl;
  explicit SoftwarePeer(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
