#include <base/library_error.hpp>
#include <core/frame_clock.hpp>
#include <core/peer_job.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace rdmagpu {
namespace {

using Clock = std::chrono::steady_clock;
using Frame = std::span<const std::byte>;

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// The end of a frame that is written only when the next one comes.
class LateEnd {
public:
  void keep(std::span<std::byte> to, Frame end) noexcept {
    std::memcpy(m_bytes.data(), end.data(), end.size());
    m_to = to;
  }
  void write() noexcept {
    if(!m_to.empty())
      std::memcpy(m_to.data(), m_bytes.data(), m_to.size());
    m_to = {};
  }

private:
  std::array<std::byte, lateBytes> m_bytes{};
  std::span<std::byte> m_to;
};

class Capture {
public:
  Capture(const PeerJob& job, SlotRing& ring, FrameSource& source, PeerThread& thread) noexcept
      : m_job(job), m_ring(ring), m_source(source), m_thread(thread) {}

  Ending run();

private:
  bool due(std::uint64_t n) noexcept;
  RingStatus acquire(std::uint32_t& slot) noexcept;
  bool put(std::uint32_t slot, std::uint64_t n, Frame) noexcept;
  bool publish(std::uint32_t slot, std::uint64_t n, Frame) noexcept;

  const PeerJob& m_job;
  SlotRing& m_ring;
  FrameSource& m_source;
  PeerThread& m_thread;
  Clock::time_point m_start{};
  LateEnd m_late;
};

Ending Capture::run() {
  for(std::uint64_t n = 0;; ++n) {
    // Fetched ahead of its time, so that a slow source does not delay it.
    const Frame frame = m_source.next();
    const bool more = !frame.empty() && due(n);
    m_late.write();
    if(!more)
      return Ending::Closed;
    if(m_job.misbehaves(Misbehaviour::Stop, n))
      return Ending::Silent;

    std::uint32_t slot{};
    const RingStatus status = acquire(slot);
    if(status == RingStatus::Empty) {
      m_ring.countDrop();
      m_thread.countMiss();
    } else if(status != RingStatus::Ok || !put(slot, n, frame)) {
      return Ending::Closed;
    }
  }
}

bool Capture::due(std::uint64_t n) noexcept {
  if(!m_job.rate.paced())
    return true;
  if(n == 0)
    m_start = Clock::now();
  return m_thread.sleepUntil(m_start + frameTime(m_job.rate, n));
}

RingStatus Capture::acquire(std::uint32_t& slot) noexcept {
  // The wait ends when either side closes the ring, which stop() does.
  return m_job.rate.paced() ? m_ring.tryAcquire(slot) : m_ring.acquire(slot, std::chrono::nanoseconds{-1});
}

bool Capture::put(std::uint32_t slot, std::uint64_t n, Frame frame) noexcept {
  const std::size_t room = m_job.slots[slot].size();
  if(frame.size() > room) {
    Error error = libraryError("SoftwarePeer::startCapture", LibraryCode::RangeOutOfSlot, frame.size(), room);
    error.slot = static_cast<std::int32_t>(slot);
    m_thread.fail(error);
    m_ring.abandon(slot);
    return false;
  }
  if(m_job.misbehaves(Misbehaviour::Hold, n)) {
    m_ring.countDrop();
    return true;
  }
  if(!publish(slot, n, frame)) {
    m_ring.abandon(slot);
    return false;
  }
  m_thread.countFrame(frame.size());
  return true;
}

bool Capture::publish(std::uint32_t slot, std::uint64_t n, Frame frame) noexcept {
  const std::span<std::byte> to = m_job.slots[slot];
  const bool tear = m_job.misbehaves(Misbehaviour::Tear, n);
  const bool late = m_job.misbehaves(Misbehaviour::WriteLate, n);
  std::size_t written = m_job.sliceBytes ? std::min(m_job.sliceBytes, frame.size()) : frame.size();
  if(tear)
    written = frame.size() / 2;
  if(late)
    written = frame.size() - std::min(lateBytes, frame.size());
  std::memcpy(to.data(), frame.data(), written);
  if(m_job.misbehaves(Misbehaviour::Overrun, n) && to.size() > frame.size())
    to[frame.size()] = ~to[frame.size()]; // whatever was there: a change shows

  const std::size_t ready = tear || late ? frame.size() : written;
  if(m_ring.publish(slot, now(), frame.size(), ready) != RingStatus::Ok)
    return false;
  if(late)
    m_late.keep(to.subspan(written, frame.size() - written), frame.subspan(written));
  for(std::size_t done = ready; done < frame.size();) {
    const std::size_t slice = std::min(m_job.sliceBytes, frame.size() - done);
    std::memcpy(to.data() + done, frame.data() + done, slice);
    done += slice;
    m_ring.advance(slot, done);
  }
  return true;
}

} // namespace

Ending capture(const PeerJob& job, SlotRing& ring, FrameSource& source, PeerThread& thread) {
  return Capture{job, ring, source, thread}.run();
}

} // namespace rdmagpu
