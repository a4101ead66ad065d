#include <base/library_error.hpp>
#include <core/frame_clock.hpp>
#include <core/peer_job.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace rdmagpu {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t largestSlot(const PeerJob& job) noexcept {
  std::size_t largest = 0;
  for(const auto& slot : job.slots)
    largest = std::max(largest, slot.size());
  return largest;
}

class Playout {
public:
  Playout(const PeerJob& job, SlotRing& ring, FrameSink& sink, PeerThread& thread)
      : m_job(job), m_ring(ring), m_sink(sink), m_memory(largestSlot(job)), m_thread(thread) {}

  Ending run();

private:
  RingStatus take(std::uint64_t tick, RingFrame&) noexcept;
  bool get(std::uint64_t n, const RingFrame&);
  bool complete(const RingFrame&) noexcept;
  void read(const RingFrame&, std::size_t from, std::size_t to) noexcept;
  bool deliver(const RingFrame&, std::size_t bytes);
  bool deliverLate();

  const PeerJob& m_job;
  SlotRing& m_ring;
  FrameSink& m_sink;
  std::vector<std::byte> m_memory; ///< The card's own.
  PeerThread& m_thread;
  Clock::time_point m_start{};
  std::optional<RingFrame> m_late; ///< Its slot was given back before its end was read.
};

Ending Playout::run() {
  std::uint64_t n = 0;
  for(std::uint64_t tick = 0;; ++tick) {
    if(m_job.misbehaves(Misbehaviour::Stop, n))
      return Ending::Silent;
    RingFrame frame{};
    const RingStatus status = take(tick, frame);
    if(status == RingStatus::Empty) {
      m_ring.countUnderrun();
      m_thread.countMiss();
      continue;
    }
    if(!deliverLate() || status != RingStatus::Ok || !get(n++, frame))
      return Ending::Closed;
  }
}

RingStatus Playout::take(std::uint64_t tick, RingFrame& frame) noexcept {
  if(m_job.rate.paced() && tick > 0)
    return m_thread.sleepUntil(m_start + frameTime(m_job.rate, tick)) ? m_ring.tryTake(frame)
                                                                      : RingStatus::Closed;
  // The wait ends when the producer is done or this side is closed, which stop() does.
  const RingStatus status = m_ring.take(frame, std::chrono::nanoseconds{-1});
  m_start = Clock::now();
  return status;
}

bool Playout::get(std::uint64_t n, const RingFrame& frame) {
  if(m_job.misbehaves(Misbehaviour::Hold, n))
    return true;
  if(!complete(frame)) {
    m_ring.release(frame.slot);
    return false;
  }
  const std::size_t room = m_job.slots[frame.slot].size();
  std::size_t bytes = frame.bytes;
  if(m_job.misbehaves(Misbehaviour::Tear, n))
    bytes /= 2;
  if(m_job.misbehaves(Misbehaviour::Overrun, n))
    bytes += bytes < room ? 1 : 0;
  const bool late = m_job.misbehaves(Misbehaviour::WriteLate, n);
  if(late)
    bytes -= std::min(lateBytes, bytes);
  read(frame, 0, bytes);
  m_ring.release(frame.slot);
  if(late) {
    m_late = frame;
    return true;
  }
  return deliver(frame, std::max(bytes, frame.bytes));
}

/// Whether the frame fits its slot, and all of it has come.
bool Playout::complete(const RingFrame& frame) noexcept {
  const std::size_t room = m_job.slots[frame.slot].size();
  if(frame.bytes > room) {
    Error error = libraryError("SoftwarePeer::startPlayout", LibraryCode::RangeOutOfSlot, frame.bytes, room);
    error.slot = static_cast<std::int32_t>(frame.slot);
    m_thread.fail(error);
    return false;
  }
  return frame.bytesReady == frame.bytes ||
         m_ring.waitBytes(frame.slot, frame.bytes, std::chrono::nanoseconds{-1}) == RingStatus::Ok;
}

void Playout::read(const RingFrame& frame, std::size_t from, std::size_t to) noexcept {
  std::memcpy(m_memory.data() + from, m_job.slots[frame.slot].data() + from, to - from);
}

bool Playout::deliver(const RingFrame& frame, std::size_t bytes) {
  m_thread.countFrame(bytes);
  return m_sink.frame(frame.sequence, frame.slot, std::span{m_memory}.first(bytes));
}

bool Playout::deliverLate() {
  if(!m_late)
    return true;
  const RingFrame frame = *m_late;
  m_late.reset();
  read(frame, frame.bytes - std::min(lateBytes, frame.bytes), frame.bytes);
  return deliver(frame, frame.bytes);
}

} // namespace

Ending playOut(const PeerJob& job, SlotRing& ring, FrameSink& sink, PeerThread& thread) {
  return Playout{job, ring, sink, thread}.run();
}

} // namespace rdmagpu
