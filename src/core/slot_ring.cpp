#include <rdmagpu/slot_ring.hpp>

#include <base/enum_value.hpp>
#include <base/library_error.hpp>
#include <core/slot_ring_impl.hpp>
#include <os/cpu_relax.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace rdmagpu {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// How often a waiting call looks again by itself while a completion is not done.
constexpr nanoseconds askInterval = std::chrono::milliseconds{1};
/// Looks before a waiting call sleeps: a microsecond or two, less than it takes to sleep and wake up.
constexpr int spins = 50;

/// An end that lies beyond the clock's range is as good as none.
Clock::time_point deadline(nanoseconds timeout) noexcept {
  const Clock::time_point now = Clock::now();
  const bool unlimited = timeout < nanoseconds::zero() || timeout > Clock::time_point::max() - now;
  return unlimited ? Clock::time_point::max() : now + timeout;
}

/// Repeats `look`, which takes a flag to set when a completion is not done, until it answers anything
/// but Empty or the time is up.
template <class Look>
RingStatus await(WakeGate& gate, nanoseconds timeout, Look look) noexcept {
  bool pending = false;
  RingStatus status = look(pending);
  if(status != RingStatus::Empty || timeout == nanoseconds::zero())
    return status;
  const Clock::time_point end = deadline(timeout);
  for(int i = 0; i < spins && !pending; ++i) {
    os::cpuRelax();
    if(status = look(pending); status != RingStatus::Empty)
      return status;
  }
  for(;;) {
    gate.arm();
    pending = false;
    status = look(pending);
    const nanoseconds left = end - Clock::now();
    if(status != RingStatus::Empty || left <= nanoseconds::zero()) {
      gate.disarm();
      return status;
    }
    gate.wait(pending ? std::min(left, askInterval) : left);
  }
}

} // namespace

Result<SlotRing> SlotRing::make(const SlotRingConfig& config) {
  constexpr const char* call = "SlotRing::make";
  if(config.slotCount == 0)
    return libraryError(call, LibraryCode::SlotCountZero);
  if(const auto known = checkValue("SlotRingConfig::policy", config.policy, RingPolicy::Newest); !known)
    return known.error();
  if(config.proof && config.proof->slotCount() < config.slotCount)
    return libraryError(call, LibraryCode::RingLargerThanProof, config.slotCount, config.proof->slotCount());
  try {
    return SlotRing{std::make_unique<Impl>(config)};
  } catch(const std::bad_alloc&) {
    return libraryError(call, LibraryCode::OutOfMemory, config.slotCount);
  }
}

SlotRing::SlotRing(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
SlotRing::~SlotRing() = default;
SlotRing::SlotRing(SlotRing&&) noexcept = default;
SlotRing& SlotRing::operator=(SlotRing&&) noexcept = default;

std::uint32_t SlotRing::slotCount() const noexcept { return m_impl ? m_impl->slotCount : 0; }
RingPolicy SlotRing::policy() const noexcept { return m_impl ? m_impl->policy : RingPolicy{}; }

RingCounters SlotRing::counters() const noexcept {
  if(!m_impl)
    return {};
  return {.published = m_impl->ready.tail(),
          .taken = m_impl->consumer.taken.load(std::memory_order_relaxed),
          .drops = m_impl->producer.drops.load(std::memory_order_relaxed) +
                   m_impl->consumer.skipped.load(std::memory_order_relaxed),
          .underruns = m_impl->consumer.underruns.load(std::memory_order_relaxed)};
}

RingStatus SlotRing::tryAcquire(std::uint32_t& slot) noexcept {
  bool pending = false;
  return m_impl ? m_impl->acquireNow(slot, pending) : RingStatus::Misuse;
}

RingStatus SlotRing::acquire(std::uint32_t& slot, nanoseconds timeout) noexcept {
  if(!m_impl)
    return RingStatus::Misuse;
  return await(m_impl->producerGate, timeout,
               [&](bool& pending) noexcept { return m_impl->acquireNow(slot, pending); });
}

RingStatus SlotRing::abandon(std::uint32_t slot) noexcept {
  if(!m_impl || !m_impl->producerHolds(slot))
    return RingStatus::Misuse;
  m_impl->producer.holds[slot] = false;
  m_impl->park(slot);
  return RingStatus::Ok;
}

RingStatus SlotRing::publish(std::uint32_t slot, std::int64_t timestamp, std::size_t bytes,
                             std::size_t bytesReady, RingCompletion completion) noexcept {
  if(!m_impl || !m_impl->producerHolds(slot) || bytesReady > bytes)
    return RingStatus::Misuse;
  if(m_impl->closed())
    return RingStatus::Closed;
  Impl& ring = *m_impl;
  if(ring.proof && bytesReady == bytes && !completion.done && ring.mustGoElsewhere(slot, bytes))
    return RingStatus::Faulty;
  if(ring.proof)
    ring.armAhead();
  ring.producer.holds[slot] = false;
  ring.producer.progress[slot].bytes = bytes;
  ring.producer.progress[slot].bytesReady.store(bytesReady, std::memory_order_relaxed);
  ring.completions[slot].set(ring.staged(slot) ? ring.stage->admit(slot, bytes, completion) : completion);
  ring.ready.back().store({.slot = slot,
                           .whole = bytesReady == bytes,
                           .sequence = ring.producer.nextSequence++,
                           .timestamp = timestamp,
                           .bytes = bytes});
  ring.ready.push();
  if(ring.staged(slot))
    ring.stage->enqueue(slot);
  else
    ring.consumerGate.signal();
  return RingStatus::Ok;
}

RingStatus SlotRing::advance(std::uint32_t slot, std::size_t bytesReady) noexcept {
  if(slot >= slotCount() || m_impl->producer.holds[slot])
    return RingStatus::Misuse;
  Progress& progress = m_impl->producer.progress[slot];
  if(progress.whole() || bytesReady > progress.bytes ||
     bytesReady < progress.bytesReady.load(std::memory_order_relaxed))
    return RingStatus::Misuse;
  if(bytesReady == progress.bytes && m_impl->completions[slot].done())
    m_impl->proveHere(slot, bytesReady);
  progress.bytesReady.store(bytesReady, std::memory_order_release);
  m_impl->arrivals(slot).signal();
  return RingStatus::Ok;
}

void SlotRing::countDrop() noexcept {
  if(!m_impl)
    return;
  ++m_impl->producer.nextSequence;
  add(m_impl->producer.drops, 1);
}

void SlotRing::closeProducer() noexcept {
  if(m_impl)
    m_impl->close(Producer);
}

RingStatus SlotRing::tryTake(RingFrame& frame) noexcept {
  bool pending = false;
  return m_impl ? m_impl->takeNow(frame, pending) : RingStatus::Misuse;
}

RingStatus SlotRing::take(RingFrame& frame, nanoseconds timeout) noexcept {
  if(!m_impl)
    return RingStatus::Misuse;
  return await(m_impl->consumerGate, timeout,
               [&](bool& pending) noexcept { return m_impl->takeNow(frame, pending); });
}

std::size_t SlotRing::bytesReady(std::uint32_t slot) const noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot))
    return 0;
  return m_impl->readable(slot).bytesReady.load(std::memory_order_acquire);
}

RingStatus SlotRing::waitBytes(std::uint32_t slot, std::size_t bytes, nanoseconds timeout) noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot) || bytes > m_impl->readable(slot).bytes)
    return RingStatus::Misuse;
  return await(m_impl->consumerGate, timeout, [&](bool&) noexcept {
    const bool ended = m_impl->ended(); // before looking at how far it got
    if(m_impl->readable(slot).bytesReady.load(std::memory_order_acquire) >= bytes)
      return RingStatus::Ok;
    return ended ? RingStatus::Closed : RingStatus::Empty;
  });
}

FrameFault SlotRing::fault(std::uint32_t slot) const noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot) || !m_impl->readable(slot).whole())
    return FrameFault::None;
  const FrameProof* const proof = m_impl->proofOf(slot);
  return proof ? proof->finding(slot).fault : FrameFault::None;
}

RingStatus SlotRing::release(std::uint32_t slot, RingCompletion completion) noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot))
    return RingStatus::Misuse;
  Impl& ring = *m_impl;
  if(ring.proof)
    ring.proveGrown(slot);
  ring.consumer.holds[slot].store(false, std::memory_order_relaxed);
  ring.completions[slot].set(completion);
  ring.giveBack(slot);
  ring.producerGate.signal();
  return RingStatus::Ok;
}

void SlotRing::countUnderrun() noexcept {
  if(m_impl)
    add(m_impl->consumer.underruns, 1);
}

void SlotRing::closeConsumer() noexcept {
  if(m_impl)
    m_impl->close(Consumer);
}

void SlotRing::notify() noexcept {
  if(m_impl)
    m_impl->notify();
}

} // namespace rdmagpu
