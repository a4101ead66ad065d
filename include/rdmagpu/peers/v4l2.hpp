#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/peers/detail/run_thread.hpp>
#include <rdmagpu/peers/detail/v4l2_device.hpp>
#include <rdmagpu/peers/detail/v4l2_run.hpp>
#include <rdmagpu/peers/detail/v4l2_slots.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace rdmagpu::peers {

/// A V4L2 device of the kernel's as the peer of a StagedBuffer: the slots are queued to its driver as
/// dma-bufs or as user pointers, and come back with frames (capture), or are sent (playout). Header only;
/// Linux. Single-planar and multi-planar devices, of formats whose frames lie in one plane.
///
/// open() negotiates the format and is the device's owner from then on. Standards, timings and controls are
/// set beforehand by a descriptor of the program's own; V4L2 keeps them for the device. Which way the slots
/// go is found out by trying, before the stream starts: memory(), memoryReason().
///
/// While it runs a thread of its own is the device's side of the ring: it queues free slots and publishes
/// those that were filled, or queues frames and releases those that were sent. It sleeps in poll(); while the
/// driver's queue is short it looks at the ring every millisecond. The stream is stopped, and the driver has
/// let go of the slots, before their memory goes. It can be started again.
///
/// A failure is an Error with the system call and errno (Origin::Os); of a device that was unplugged the kind
/// is Lost. One that a start...() returns leaves nothing queued, and another start may be tried.
///
/// With FaultPolicy::FailOver both sets of slots must go the same way. The frame that was found faulty is
/// lost, since the device does not send it again, and counts as a drop.
///
/// Once it is started, stop(), wait() and counters() may be called by any thread; the other members by one at
/// a time. Move-only; a peer that was moved from has no device, and its starts fail with PeerSpent.
class V4l2Peer {
public:
  /// What its slots may be, for StagedBufferConfig::buffer. A GPU's can go as dma-bufs only.
  static Handoffs accepts() noexcept { return {HandoffKind::HostPointer, HandoffKind::CudaPointer}; }

  /// `path` is that of a device, such as /dev/video0. A format or size that the driver has not got is
  /// PeerFormat, with both values.
  static Result<V4l2Peer> open(const char* path, const V4l2Config& config = {});
  ~V4l2Peer() { stop(); }
  V4l2Peer(V4l2Peer&&) noexcept = default;
  V4l2Peer& operator=(V4l2Peer&& other) noexcept {
    stop();
    m_impl = std::move(other.m_impl);
    return *this;
  }

  V4l2Format format() const noexcept { return m_impl ? m_impl->device.format() : V4l2Format{}; }
  /// What a slot's frameBytes must be at least: the driver's sizeimage.
  std::size_t frameBytes() const noexcept { return format().frameBytes; }

  /// As V4l2Config::flow says. Capture: queues the slots and starts the stream. Ends with closeProducer(),
  /// when the consumer closes its side or the device fails. Playout: the stream is started when
  /// V4l2Config::primeFrames frames are queued, or the producer has closed its side. Ends with
  /// closeConsumer(), when the frames of a producer that has closed its side are sent, or the device fails.
  /// The StagedBuffer is borrowed until stop(), wait() or destruction, or until counters().finished.
  Result<void> start(StagedBuffer& staged) noexcept;
  /// Makes the StagedBuffer, too. Its flow is the peer's; `accepts`, unless it was set, and a frameBytes that
  /// is smaller than the driver's are set to the peer's. If config.path is empty and the driver does not take
  /// the slots of a GPU, the buffer is made anew, staged; fallback() then has the refusal.
  Result<void> start(StagedBufferConfig config);

  /// Of the second start(), as long as this object; null without.
  StagedBuffer* buffer() noexcept { return m_impl && m_impl->own ? &*m_impl->own : nullptr; }
  Error fallback() const noexcept { return m_impl ? m_impl->fallback : Error{}; }
  /// How the slots of the last start() went, and why not as dma-bufs; kind None when they did, or were not
  /// to.
  V4l2Memory memory() const noexcept { return m_impl ? m_impl->slots.memory() : V4l2Memory{}; }
  Error memoryReason() const noexcept { return m_impl ? m_impl->slots.reason() : Error{}; }

  /// Closes the peer's side of the ring, joins the thread and stops the stream. Frames in the driver's queue
  /// are lost. Waits for no frame. Idempotent.
  void stop() noexcept { end(true); }
  /// The same once the thread has come to its end by itself.
  void wait() noexcept { end(false); }
  V4l2Counters counters() const noexcept {
    return m_impl && m_impl->thread.run() ? m_impl->thread.run()->counters() : V4l2Counters{};
  }

private:
  struct Impl {
    explicit Impl(const V4l2Config& c) : config(c), device(c), slots(device), thread(slots) {}

    const V4l2Config config;
    std::optional<StagedBuffer> own;
    Error fallback{};
    detail::V4l2Device device;
    detail::V4l2Slots slots;
    detail::V4l2Wake wake;
    detail::RunThread<detail::V4l2Run, detail::V4l2Slots> thread;
  };

  explicit V4l2Peer(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}

  void end(bool now) noexcept {
    if(m_impl)
      m_impl->thread.end(now);
  }

  std::unique_ptr<Impl> m_impl;
};

inline Result<V4l2Peer> V4l2Peer::open(const char* path, const V4l2Config& config) {
  try {
    auto impl = std::make_unique<Impl>(config);
    if(const auto woken = impl->wake.made(); !woken)
      return woken.error();
    if(const auto opened = impl->device.open(path); !opened)
      return opened.error();
    return V4l2Peer{std::move(impl)};
  } catch(const std::bad_alloc&) {
    return refusal("V4l2Peer::open", Refusal::OutOfMemory);
  }
}

inline Result<void> V4l2Peer::start(StagedBuffer& staged) noexcept {
  constexpr const char* call = "V4l2Peer::start";
  if(!m_impl)
    return refusal(call, Refusal::Spent);
  Impl& impl = *m_impl;
  const std::lock_guard lock{impl.thread.joining()};
  if(impl.thread.running())
    return refusal(call, Refusal::Running);
  if(!impl.device.isOpen())
    return refusal(call, Refusal::Spent);
  impl.thread.forget();
  const Error attached = impl.thread.guarded(call, [&] {
    const auto done = impl.slots.attach(staged, impl.config.memory);
    return done ? Error{} : done.error();
  });
  if(attached.kind != Errc::None)
    return attached;
  const Error error = impl.thread.start(call, impl.device, impl.wake, staged, impl.config);
  return error.kind == Errc::None ? Result<void>{} : error;
}

inline Result<void> V4l2Peer::start(StagedBufferConfig config) {
  if(!m_impl)
    return refusal("V4l2Peer::start", Refusal::Spent);
  if(m_impl->thread.running())
    return refusal("V4l2Peer::start", Refusal::Running);
  config.flow = m_impl->config.flow;
  if(config.buffer.accepts == Handoffs{})
    config.buffer.accepts = accepts();
  config.buffer.frameBytes = std::max(config.buffer.frameBytes, frameBytes());
  m_impl->fallback = {};
  m_impl->thread.forget(); // of a buffer that goes now
  for(bool again = !config.path;; again = false) {
    m_impl->own.reset();
    auto made = StagedBuffer::make(config);
    if(!made)
      return made.error();
    m_impl->own.emplace(*std::move(made));
    const auto started = start(*m_impl->own);
    if(started)
      return {};
    const bool hidden =
        cpuAddress(m_impl->own->handoff(0)) == nullptr; // from the CPU: no pointer can be queued
    m_impl->own.reset();
    if(!again || !hidden)
      return started;
    m_impl->fallback = started.error();
    config.path = SlotPath::Staged;
  }
}

} // namespace rdmagpu::peers
