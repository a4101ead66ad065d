#include <base/library_error.hpp>
#include <core/frame_clock.hpp>
#include <core/misbehaviour.hpp>
#include <core/peer_job.hpp>
#include <core/playout_memory.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

namespace rdmagpu {
namespace {

using Clock = std::chrono::steady_clock;

/// A frame that is being read into the card's memory.
struct Begun {
  RingFrame frame{};
  std::size_t bytes{};   ///< That the sink is shown.
  std::uint64_t place{}; ///< In the memory.
  Copy copy{};
};

class Playout {
public:
  Playout(const PeerJob& job, SlotRing& ring, FrameSink& sink, PlayoutMemory memory, PeerThread& thread)
      : m_job(job), m_ring(ring), m_sink(sink), m_memory(std::move(memory)), m_thread(thread) {}
  Playout(Playout&&) = delete;
  ~Playout(); // before the memory goes

  Ending run();

private:
  RingStatus take(std::uint64_t tick, RingFrame&);
  RingStatus takeUnpaced(RingFrame&);
  bool get(std::uint64_t n, const RingFrame&);
  bool complete(const RingFrame&);
  [[gnu::noinline]] Result<Copy> readWrongSlot(std::uint32_t slot, std::span<std::byte> to) const noexcept;
  bool readNextSlot(const SlotRange&) noexcept;
  bool begin(const RingFrame&, std::uint32_t slot, std::size_t bytes, std::size_t shown);
  bool readLateEnd() noexcept;

  bool finish(const Result<Copy>&) noexcept;
  bool deliverOldest();
  bool deliverAll();

  const PeerJob& m_job;
  SlotRing& m_ring;
  FrameSink& m_sink;
  PlayoutMemory m_memory;
  PeerThread& m_thread;
  Clock::time_point m_start{};
  std::uint64_t m_read{};    ///< Frames begun: the next one's place in the memory.
  std::deque<Begun> m_begun; ///< In order, no more than the memory holds.
  bool m_late{};             ///< The only one's slot was given back before its end was read.
};

Playout::~Playout() {
  for(const Begun& begun : m_begun)
    static_cast<void>(begun.copy.wait()); // nobody gets the frame
}

Ending Playout::run() {
  std::uint64_t n = 0;
  for(std::uint64_t tick = 0;; ++tick) {
    if(m_job.misbehaves(Misbehaviour::Stop, n)) {
      deliverAll();
      return Ending::Silent;
    }
    RingFrame frame{};
    const RingStatus status = take(tick, frame);
    if(status == RingStatus::Empty) {
      m_ring.countUnderrun();
      m_thread.countMiss();
      continue;
    }
    if(m_late && !readLateEnd())
      return Ending::Closed;
    if(status != RingStatus::Ok) {
      deliverAll();
      return Ending::Closed;
    }
    if(!get(n++, frame))
      return Ending::Closed;
  }
}

RingStatus Playout::take(std::uint64_t tick, RingFrame& frame) {
  if(m_job.rate.paced() && tick > 0)
    return m_thread.sleepUntil(m_start + frameTime(m_job.rate, tick)) ? m_ring.tryTake(frame)
                                                                      : RingStatus::Closed;
  const RingStatus status = takeUnpaced(frame);
  m_start = Clock::now();
  return status;
}

RingStatus Playout::takeUnpaced(RingFrame& frame) {
  RingStatus status = m_ring.tryTake(frame);
  while(status == RingStatus::Empty && !m_begun.empty() && !m_late) {
    if(!deliverOldest())
      return RingStatus::Closed;
    status = m_ring.tryTake(frame);
  }
  // The wait ends when the producer is done or this side is closed, which stop() does.
  return status == RingStatus::Empty ? m_ring.take(frame, std::chrono::nanoseconds{-1}) : status;
}

bool Playout::get(std::uint64_t n, const RingFrame& frame) {
  if(m_job.misbehaves(Misbehaviour::Hold, n))
    return true;
  const SlotRange over = overrunOf(m_job, n, frame.slot, frame.bytes);
  if(!complete(frame) || (over.slot != frame.slot && !readNextSlot(over))) {
    m_ring.release(frame.slot);
    return false;
  }
  std::size_t bytes = frame.bytes;
  if(m_job.misbehaves(Misbehaviour::Tear, n))
    bytes /= 2;
  if(m_job.misbehaves(Misbehaviour::Overrun, n))
    bytes += over.bytes;
  if(m_job.misbehaves(Misbehaviour::Migrate, n))
    bytes = 0;
  const bool late = m_job.misbehaves(Misbehaviour::WriteLate, n);
  if(late) {
    if(!deliverAll())
      return false;
    bytes -= std::min(lateBytes, bytes);
  }
  if(!begin(frame, takenFor(m_job, n, frame.slot, frame.bytes), bytes, std::max(bytes, frame.bytes)))
    return false;
  m_late = late;
  return late || m_memory.frames() > 1 || deliverAll();
}

/// Whether the frame fits its slot, and all of it has come.
bool Playout::complete(const RingFrame& frame) {
  const std::size_t room = m_job.slots[frame.slot].size;
  if(frame.bytes > room) {
    Error error = libraryError("SoftwarePeer::startPlayout", LibraryCode::RangeOutOfSlot, frame.bytes, room);
    error.slot = static_cast<std::int32_t>(frame.slot);
    m_thread.fail(error);
    return false;
  }
  if(frame.bytesReady == frame.bytes)
    return true;
  return deliverAll() &&
         m_ring.waitBytes(frame.slot, frame.bytes, std::chrono::nanoseconds{-1}) == RingStatus::Ok;
}

/// Races with whoever has that slot, as readNextSlot() does: tools/tsan.supp has their names.
Result<Copy> Playout::readWrongSlot(std::uint32_t slot, std::span<std::byte> to) const noexcept {
  return m_job.read(slot, 0, to);
}

bool Playout::readNextSlot(const SlotRange& range) noexcept {
  std::array<std::byte, overrunBytes> seen{};
  return finish(m_job.read(range.slot, range.offset, std::span{seen}.first(range.bytes)));
}

/// Reads that many bytes of `slot`, and gives the frame's slot back for when that is done.
bool Playout::begin(const RingFrame& frame, std::uint32_t slot, std::size_t bytes, std::size_t shown) {
  if(m_begun.size() == m_memory.frames() && !deliverOldest())
    return false;
  const std::uint64_t place = m_read++;
  m_begun.push_back({.frame = frame, .bytes = shown, .place = place});
  const auto to = m_memory.frame(place).first(bytes);
  auto copy = slot == frame.slot ? m_job.read(slot, 0, to) : readWrongSlot(slot, to);
  if(!copy) {
    m_begun.pop_back();
    m_ring.release(frame.slot);
    return finish(copy);
  }
  m_ring.release(frame.slot, copy->completion());
  m_begun.back().copy = *std::move(copy);
  return true;
}

bool Playout::readLateEnd() noexcept {
  m_late = false;
  const Begun& begun = m_begun.front();
  const std::size_t size = std::min(lateBytes, begun.frame.bytes);
  const std::size_t offset = begun.frame.bytes - size;
  return finish(m_job.read(begun.frame.slot, offset, m_memory.frame(begun.place).subspan(offset, size)));
}

bool Playout::finish(const Result<Copy>& copy) noexcept {
  const auto done = copy ? copy->wait() : copy.error();
  if(!done)
    m_thread.fail(done.error());
  return done.has_value();
}

/// Whoever waits for the slot hears of it from here: the ring itself asks seldom.
bool Playout::deliverOldest() {
  const Begun oldest = std::move(m_begun.front());
  m_begun.pop_front();
  const bool good = finish(oldest.copy);
  if(m_job.queue)
    m_ring.notify();
  if(!good)
    return false;
  m_thread.countFrame(oldest.bytes);
  return m_sink.frame(oldest.frame.sequence, oldest.frame.slot,
                      m_memory.frame(oldest.place).first(oldest.bytes));
}

bool Playout::deliverAll() {
  while(!m_begun.empty()) {
    if(!deliverOldest())
      return false;
  }
  return true;
}

} // namespace

Ending playOut(const PeerJob& job, SlotRing& ring, FrameSink& sink, PeerThread& thread) {
  // The newest frame is worth nothing later.
  const bool several = job.pipelined() && ring.policy() == RingPolicy::Fifo;
  auto memory = PlayoutMemory::make(job, several);
  if(!memory) {
    thread.fail(memory.error());
    return Ending::Closed;
  }
  return Playout{job, ring, sink, *std::move(memory), thread}.run();
}

} // namespace rdmagpu
