#include "stream/frame_producer.hpp"

#include <chrono>
#include <limits>
#include <span>
#include <thread>

namespace rdmagpu::cli {
namespace {

/// How long to wait for a slot or a frame before the stop flag, the terminal and the peer are looked at.
constexpr std::chrono::milliseconds lookAround{100};

} // namespace

std::optional<Failure> FrameProducer::run() {
  const std::uint64_t kept = m_parts.feed.framesKept();
  for(std::uint64_t sequence = 0; awaitFrame(); ++sequence) {
    if(sequence > kept && !settleBefore(sequence - kept))
      break;
    const std::span<const std::byte> frame = m_parts.feed.next();
    // The peer's clock starts with its first frame, and then there should be no lack of them.
    if(frame.empty() || (sequence == m_parts.ring.slotCount() && !startPeer()))
      break;
    std::uint32_t slot{};
    if(!awaitSlot(slot))
      break;
    const auto put = m_parts.queue.upload(slot, frame);
    if(!put)
      return failureOf(put.error());
    m_begun.push_back({sequence, *put});
    const std::int64_t now = steadyNow();
    m_peer.published(sequence, now);
    m_parts.ring.publish(slot, now, frame.size(), put->completion());
  }
  if(!m_failure && !m_started && !m_parts.stop.load())
    startPeer();
  settleAll();
  return m_failure;
}

void FrameProducer::awaitPeer() {
  constexpr std::chrono::milliseconds between{2};
  while(m_started && !m_parts.stop.load() && !m_peer.finished()) {
    std::this_thread::sleep_for(between);
    showProgress();
  }
}

bool FrameProducer::startPeer() {
  m_failure = m_peer.start();
  m_started = !m_failure;
  return m_started;
}

bool FrameProducer::goOn() {
  showProgress();
  m_peerLeft = m_started && m_peer.finished();
  return !m_parts.stop.load() && !m_peerLeft;
}

/// False when no more frames are wanted.
bool FrameProducer::awaitFrame() {
  constexpr std::chrono::milliseconds now{0};
  while(goOn()) {
    if(m_parts.feed.ready(m_begun.empty() ? lookAround : now))
      return true;
    if(!settleAll())
      return false;
  }
  return false;
}

/// Waits for the oldest copy, and tells the ring, which itself asks seldom.
bool FrameProducer::settleOldest() {
  const auto done = m_begun.front().copy.wait();
  m_begun.pop_front();
  if(m_parts.onGpu)
    m_parts.ring.notify();
  if(!done && !m_failure)
    m_failure = failureOf(done.error());
  return done.has_value();
}

bool FrameProducer::settleBefore(std::uint64_t sequence) {
  bool good = true;
  while(!m_begun.empty() && m_begun.front().sequence < sequence)
    good = settleOldest() && good;
  return good;
}

bool FrameProducer::settleAll() { return settleBefore(std::numeric_limits<std::uint64_t>::max()); }

/// The peer can give back only what it has got.
RingStatus FrameProducer::acquire(std::uint32_t& slot) {
  RingStatus status = m_parts.ring.tryAcquire(slot);
  while(status == RingStatus::Empty && !m_begun.empty()) {
    if(!settleOldest())
      return RingStatus::Closed;
    status = m_parts.ring.tryAcquire(slot);
  }
  return status == RingStatus::Empty ? m_parts.ring.acquire(slot, lookAround) : status;
}

bool FrameProducer::awaitSlot(std::uint32_t& slot) {
  while(goOn()) {
    switch(acquire(slot)) {
    case RingStatus::Ok:
      return true;
    case RingStatus::Empty:
      continue;
    case RingStatus::Closed:
    case RingStatus::Misuse:
    case RingStatus::Faulty:
      m_peerLeft = true;
      return false;
    }
  }
  return false;
}

void FrameProducer::showProgress() {
  m_live.update(m_parts.tally, m_parts.ring.counters().underruns, "underruns");
}

bool framesAreLeft(const SlotRing& ring) {
  const RingCounters counters = ring.counters();
  return counters.taken + counters.drops < counters.published;
}

} // namespace rdmagpu::cli
