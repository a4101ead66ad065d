#include <base/library_error.hpp>
#include <core/frame_clock.hpp>
#include <core/misbehaviour.hpp>
#include <core/peer_job.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

namespace rdmagpu {
namespace {

using Clock = std::chrono::steady_clock;
using Frame = std::span<const std::byte>;

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// The end of a frame that is written only when the next one comes.
struct LateEnd {
  std::array<std::byte, lateBytes> bytes{};
  std::size_t size{}; ///< 0: none.
  std::uint32_t slot{};
  std::size_t offset{};
};

/// A frame that is published, or will be at once, and whose copy may not be over.
struct Begun {
  std::uint64_t frame{};
  std::size_t bytes{};
  Copy copy{};
};

class Capture {
public:
  Capture(const PeerJob& job, SlotRing& ring, FrameSource& source, PeerThread& thread)
      : m_job(job),
        m_ring(ring),
        m_source(source),
        m_thread(thread),
        m_noSlot(job.misbehaviour == Misbehaviour::Migrate ? job.largestSlot() : 0) {}
  Capture(Capture&&) = delete;
  ~Capture() { settleAll(); } // the source's frames are the caller's again

  Ending run();

private:
  bool due(std::uint64_t n) noexcept;
  RingStatus acquire(std::uint32_t& slot) noexcept;
  bool askFor(std::uint32_t slot);
  bool put(std::uint32_t slot, std::uint64_t n, Frame);
  bool begin(std::uint32_t slot, std::uint64_t n, Frame);
  bool publish(std::uint32_t slot, Frame, Begun&);
  bool publishSlices(std::uint32_t slot, Frame, std::uint64_t n) noexcept;
  Result<Copy> write(std::uint64_t n, std::uint32_t slot, std::size_t offset, Frame part) noexcept;
  [[gnu::noinline]] Result<Copy> writeWrongSlot(std::uint32_t slot, std::size_t offset, Frame part) noexcept;
  bool writeOverrun(const SlotRange&) noexcept;
  bool writeLateEnd() noexcept;

  bool finish(const Result<Copy>&) noexcept;
  bool settleOldest() noexcept;
  bool settleAll() noexcept;
  bool settleBefore(std::uint64_t frame) noexcept;

  PeerJob m_job;
  SlotRing& m_ring;
  FrameSource& m_source;
  PeerThread& m_thread;
  Clock::time_point m_start{};
  LateEnd m_late;
  std::vector<std::byte> m_noSlot; ///< What Misbehaviour::Migrate writes to.
  std::deque<Begun> m_begun;       ///< In order.
};

Ending Capture::run() {
  const std::uint64_t kept = m_source.framesKept();
  for(std::uint64_t n = 0;; ++n) {
    if(n > kept && !settleBefore(n - kept))
      return Ending::Closed;
    // Fetched ahead of its time, so that a slow source does not delay it.
    const Frame frame = m_source.next();
    const bool more = !frame.empty() && due(n);
    if(!writeLateEnd() || !more)
      return Ending::Closed;
    if(m_job.misbehaves(Misbehaviour::Stop, n))
      return Ending::Silent;

    std::uint32_t slot{};
    const RingStatus status = acquire(slot);
    if(status == RingStatus::Empty) {
      m_ring.countDrop();
      m_thread.countMiss();
    } else if(status != RingStatus::Ok || !askFor(slot) || !put(slot, n, frame)) {
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
  RingStatus status = m_ring.tryAcquire(slot);
  // The consumer can give back only what it has got.
  while(status == RingStatus::Empty && !m_begun.empty()) {
    if(!settleOldest())
      return RingStatus::Closed;
    status = m_ring.tryAcquire(slot);
  }
  if(status != RingStatus::Empty || m_job.rate.paced())
    return status;
  // The wait ends when either side closes the ring, which stop() does.
  return m_ring.acquire(slot, std::chrono::nanoseconds{-1});
}

/// The memory that the slot is this time. What is wrong with the first is not wrong with any other.
bool Capture::askFor(std::uint32_t slot) {
  if(!m_job.slotNow)
    return true;
  const PeerSlot now = m_job.slotNow(slot);
  const auto memory =
      memoryOf("SoftwarePeerConfig::slotNow", now, cpuAddress(now.handoff) ? nullptr : m_job.queue);
  if(!memory) {
    m_thread.fail(memory.error());
    m_ring.abandon(slot);
    return false;
  }
  if(*memory != m_job.slots[slot])
    m_job.misbehaviour = Misbehaviour::None;
  m_job.slots[slot] = *memory;
  return true;
}

bool Capture::put(std::uint32_t slot, std::uint64_t n, Frame frame) {
  const std::size_t room = m_job.slots[slot].size;
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
  if(begin(slot, n, frame)) // the end that is to be late must not be what the slot waits for
    return (m_job.pipelined() && m_late.size == 0) || settleAll();
  m_ring.abandon(slot);
  return false;
}

bool Capture::begin(std::uint32_t slot, std::uint64_t n, Frame frame) {
  m_begun.push_back({.frame = n, .bytes = frame.size()});
  if(publish(slot, frame, m_begun.back()))
    return true;
  static_cast<void>(m_begun.back().copy.wait()); // why there is no frame is known
  m_begun.pop_back();
  return false;
}

bool Capture::publish(std::uint32_t slot, Frame frame, Begun& begun) {
  const bool tear = m_job.misbehaves(Misbehaviour::Tear, begun.frame);
  const bool late = m_job.misbehaves(Misbehaviour::WriteLate, begun.frame);
  if(!writeOverrun(overrunOf(m_job, begun.frame, slot, frame.size())))
    return false;
  if(m_job.sliceBytes && m_job.sliceBytes < frame.size() && !tear && !late)
    return publishSlices(slot, frame, begun.frame);
  std::size_t written = frame.size();
  if(tear)
    written /= 2;
  if(late)
    written -= std::min(lateBytes, written);
  auto copy = write(begun.frame, takenFor(m_job, begun.frame, slot, frame.size()), 0, frame.first(written));
  if(!copy)
    return finish(copy);
  if(!m_job.slotNow)
    begun.copy = *std::move(copy);
  else if(!finish(copy)) // only of a frame that is there can publish() say that it must be written again
    return false;
  const RingStatus status = m_ring.publish(slot, now(), frame.size(), begun.copy.completion());
  if(status == RingStatus::Faulty)
    return m_job.slotNow ? askFor(slot) && publish(slot, frame, begun)
                         : finish(libraryError("SlotRing::publish", LibraryCode::PeerCannotAddress));
  if(status != RingStatus::Ok)
    return false;
  if(late) {
    m_late = {.size = frame.size() - written, .slot = slot, .offset = written};
    std::memcpy(m_late.bytes.data(), frame.data() + written, m_late.size);
  }
  return true;
}

/// Each is in the slot before it is said to be.
bool Capture::publishSlices(std::uint32_t slot, Frame frame, std::uint64_t n) noexcept {
  const std::uint32_t target = takenFor(m_job, n, slot, frame.size());
  for(std::size_t done = 0; done < frame.size();) {
    const std::size_t slice = std::min(m_job.sliceBytes, frame.size() - done);
    if(!finish(write(n, target, done, frame.subspan(done, slice))))
      return false;
    const bool first = done == 0;
    done += slice;
    if(!first)
      m_ring.advance(slot, done);
    else if(m_ring.publish(slot, now(), frame.size(), done) != RingStatus::Ok)
      return false;
  }
  return true;
}

/// A part of frame n.
Result<Copy> Capture::write(std::uint64_t n, std::uint32_t slot, std::size_t offset, Frame part) noexcept {
  if(m_job.misbehaves(Misbehaviour::WrongSlot, n))
    return writeWrongSlot(slot, offset, part);
  if(!m_job.misbehaves(Misbehaviour::Migrate, n))
    return m_job.write(slot, offset, part);
  std::ranges::copy(part, std::span{m_noSlot}.subspan(offset).begin());
  return Copy{};
}

/// Races with whoever has that slot, which tools/tsan.supp knows by the name of this function.
Result<Copy> Capture::writeWrongSlot(std::uint32_t slot, std::size_t offset, Frame part) noexcept {
  return m_job.write(slot, offset, part);
}

/// Whatever was there: a change shows. It races as well.
bool Capture::writeOverrun(const SlotRange& range) noexcept {
  std::array<std::byte, overrunBytes> memory{};
  const auto bytes = std::span{memory}.first(range.bytes);
  if(!finish(m_job.read(range.slot, range.offset, bytes)))
    return false;
  std::ranges::transform(bytes, bytes.begin(), [](std::byte byte) { return ~byte; });
  return finish(m_job.write(range.slot, range.offset, bytes));
}

bool Capture::writeLateEnd() noexcept {
  const std::size_t size = std::exchange(m_late.size, 0);
  return size == 0 || finish(m_job.write(m_late.slot, m_late.offset, Frame{m_late.bytes}.first(size)));
}

bool Capture::finish(const Result<Copy>& copy) noexcept {
  const auto done = copy ? copy->wait() : copy.error();
  if(!done)
    m_thread.fail(done.error());
  return done.has_value();
}

/// Whoever waits for the slot hears of it from here: the ring itself asks seldom.
bool Capture::settleOldest() noexcept {
  const Begun oldest = std::move(m_begun.front());
  m_begun.pop_front();
  const bool good = finish(oldest.copy);
  if(m_job.queue)
    m_ring.notify();
  if(good)
    m_thread.countFrame(oldest.bytes);
  return good;
}

bool Capture::settleAll() noexcept {
  bool good = true;
  while(!m_begun.empty())
    good = settleOldest() && good;
  return good;
}

bool Capture::settleBefore(std::uint64_t frame) noexcept {
  while(!m_begun.empty() && m_begun.front().frame < frame) {
    if(!settleOldest())
      return false;
  }
  return true;
}

} // namespace

Ending capture(const PeerJob& job, SlotRing& ring, FrameSource& source, PeerThread& thread) {
  return Capture{job, ring, source, thread}.run();
}

} // namespace rdmagpu
