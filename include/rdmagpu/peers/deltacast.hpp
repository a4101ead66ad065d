#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/peers/detail/deltacast_run.hpp>
#include <rdmagpu/peers/detail/deltacast_sdk.hpp>
#include <rdmagpu/peers/detail/deltacast_slots.hpp>
#include <rdmagpu/peers/detail/run_thread.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace rdmagpu::peers {

/// A card of Deltacast's as the peer of a StagedBuffer: a stream of the VideoMaster SDK whose slots are the
/// buffer's, by VHD_CreateSlotEx, with RDMAEnabled for a GPU's memory. Header only, for code that has the
/// SDK. Written after its published names, and never run with a card.
///
/// The stream is opened, and its off-line properties (standard, packing, ...) set, before make(), which takes
/// it over: it is stopped and closed when this object goes, and the memory goes after that, whichever object
/// goes first. Application buffers cannot be switched off again, so that a stream runs once: PeerSpent.
///
/// While it runs a thread of its own is the card's side of the ring: it queues free slots and publishes those
/// that were filled, or queues frames and releases those that were sent. It sleeps in the SDK; while the
/// card's queue is short it looks at the ring every millisecond. Of the SDK's queue 32 slots are used at
/// most.
///
/// A failure is an Error with the SDK's call and code (Origin::VideoMaster). One that a start...() returns
/// leaves no slot behind, and another start may be tried, unless the SDK would not let go of them: then the
/// stream is closed.
///
/// With FaultPolicy::FailOver both sets of slots are created. The frame that was found faulty is lost, since
/// the card does not send it again, and counts as a drop.
///
/// Once it is started, stop(), wait() and counters() may be called by any thread; the other members by one at
/// a time. Move-only; a peer that was moved from has no stream, and its starts fail with PeerSpent.
class DeltacastPeer {
public:
  /// What its slots may be, for StagedBufferConfig::buffer.
  static Handoffs accepts() noexcept { return {HandoffKind::HostPointer, HandoffKind::CudaPointer}; }

  /// Switches the stream to application buffers and asks for their sizes. On failure it stays the caller's.
  static Result<DeltacastPeer> make(HANDLE stream, const DeltacastConfig& config = {});
  ~DeltacastPeer() { stop(); }
  DeltacastPeer(DeltacastPeer&&) noexcept = default;
  DeltacastPeer& operator=(DeltacastPeer&& other) noexcept {
    stop();
    m_impl = std::move(other.m_impl);
    return *this;
  }

  /// What the SDK wants as a slot's frameBytes, and as companionBytes: of the buffers of other types than the
  /// slots' (audio, ancillary data), which lie in a slot's companion in the order of their types, each
  /// aligned to 4096 bytes. 0 on a stream of video alone.
  std::size_t frameBytes() const noexcept { return m_impl ? m_impl->slots.frameBytes() : 0; }
  std::size_t companionBytes() const noexcept { return m_impl ? m_impl->slots.companionBytes() : 0; }

  /// Capture: creates the slots, queues them and starts the stream. Ends with closeProducer(), when the
  /// consumer closes its side or the SDK fails. The StagedBuffer is borrowed until stop(), wait() or
  /// destruction.
  ///
  /// Where the SDK refuses RDMA the call of the error is "VHD_CreateSlotEx (RDMAEnabled)", and hints() tells
  /// to make the StagedBuffer staged; start() does so by itself.
  Result<void> startCapture(StagedBuffer& staged) { return run(staged, SlotFlow::Capture); }
  /// Playout: creates the slots; the stream is started when DeltacastConfig::primeFrames frames are queued,
  /// or the producer has closed its side. Ends with closeConsumer(), when the frames of a producer that has
  /// closed its side are sent, or the SDK fails. The card sends whole slots; a frame is sent when it is
  /// whole.
  Result<void> startPlayout(StagedBuffer& staged) { return run(staged, SlotFlow::Playout); }
  /// Makes the StagedBuffer, too, and starts with it: config.flow says which way. `accepts`, unless it was
  /// set, and sizes that are smaller than what the SDK wants, are set to the peer's. If config.path is empty
  /// and the SDK refuses RDMA, the buffer is made anew, staged; fallback() then has the refusal.
  Result<void> start(StagedBufferConfig config);

  /// Of start(), as long as this object; null without.
  StagedBuffer* buffer() noexcept { return m_impl && m_impl->own ? &*m_impl->own : nullptr; }
  Error fallback() const noexcept { return m_impl ? m_impl->fallback : Error{}; }

  /// Closes the peer's side of the ring, joins the thread and stops the stream, which destroys its slots.
  /// Frames in the card's queue are lost. Idempotent.
  void stop() noexcept { end(true); }
  /// The same once the thread has come to its end by itself.
  void wait() noexcept { end(false); }
  DeltacastCounters counters() const noexcept {
    return m_impl && m_impl->thread.run() ? m_impl->thread.run()->counters() : DeltacastCounters{};
  }

private:
  struct Impl {
    Impl(HANDLE stream, const DeltacastConfig& c)
        : config(c), slots(stream, c.bufferType, c.bufferTypeCount, c.userContext), thread(slots) {}

    DeltacastConfig config;
    std::optional<StagedBuffer> own;
    Error fallback{};
    detail::DeltacastSlots slots;
    detail::RunThread<detail::DeltacastRun, detail::DeltacastSlots> thread;
  };

  explicit DeltacastPeer(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}

  Result<void> run(StagedBuffer& staged, SlotFlow flow) noexcept;
  void end(bool now) noexcept {
    if(m_impl)
      m_impl->thread.end(now);
  }

  std::unique_ptr<Impl> m_impl;
};

inline Result<DeltacastPeer> DeltacastPeer::make(HANDLE stream, const DeltacastConfig& config) {
  try {
    auto impl = std::make_unique<Impl>(stream, config);
    if(const auto ready = impl->slots.init(); !ready)
      return ready.error();
    return DeltacastPeer{std::move(impl)};
  } catch(const std::bad_alloc&) {
    return refusal("DeltacastPeer::make", Refusal::OutOfMemory);
  }
}

inline Result<void> DeltacastPeer::run(StagedBuffer& staged, SlotFlow flow) noexcept {
  const char* call =
      flow == SlotFlow::Capture ? "DeltacastPeer::startCapture" : "DeltacastPeer::startPlayout";
  if(!m_impl)
    return refusal(call, Refusal::Spent);
  Impl& impl = *m_impl;
  const std::lock_guard lock{impl.thread.joining()};
  if(impl.thread.run())
    return refusal(call, impl.thread.running() ? Refusal::Running : Refusal::Spent);
  if(!impl.slots.open())
    return refusal(call, Refusal::Spent);
  const Error created = impl.thread.guarded(call, [&] {
    const auto done = impl.slots.create(staged);
    return done ? Error{} : done.error();
  });
  if(created.kind != Errc::None) {
    (void)impl.slots.release(); // what came first is what matters
    return created;
  }
  const Error error = impl.thread.start(call, staged, flow, impl.config);
  return error.kind == Errc::None ? Result<void>{} : error;
}

inline Result<void> DeltacastPeer::start(StagedBufferConfig config) {
  if(!m_impl)
    return refusal("DeltacastPeer::start", Refusal::Spent);
  if(m_impl->thread.run())
    return refusal("DeltacastPeer::start", m_impl->thread.running() ? Refusal::Running : Refusal::Spent);
  if(config.buffer.accepts == Handoffs{})
    config.buffer.accepts = accepts();
  config.buffer.frameBytes = std::max(config.buffer.frameBytes, frameBytes());
  config.companionBytes = std::max(config.companionBytes, companionBytes());
  m_impl->fallback = {};
  for(bool again = !config.path;; again = false) {
    auto made = StagedBuffer::make(config);
    if(!made)
      return made.error();
    m_impl->own.emplace(*std::move(made));
    const auto started = run(*m_impl->own, config.flow);
    if(started)
      return {};
    m_impl->own.reset();
    if(!again || std::strcmp(started.error().call, detail::createRdmaSlot) != 0)
      return started;
    m_impl->fallback = started.error();
    config.path = SlotPath::Staged;
  }
}

} // namespace rdmagpu::peers
