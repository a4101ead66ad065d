#include <rdmagpu/slot_ring.hpp>

#include <base/library_error.hpp>
#include <core/cache_line.hpp>
#include <core/index_queue.hpp>
#include <core/ring_slot.hpp>
#include <core/wake_gate.hpp>
#include <os/cpu_relax.hpp>

#include <algorithm>
#include <atomic>
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

/// Adds to a counter that has one writer and any readers.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

/// What only the producer writes.
struct alignas(cacheLine) ProducerSide {
  explicit ProducerSide(std::uint32_t slotCount) : holds(slotCount), parked(slotCount) {}

  LineArray<bool> holds;
  LineArray<std::uint32_t> parked; ///< Free slots that could not be used when they came, or were abandoned.
  std::uint32_t parkedCount{};
  std::uint64_t nextSequence{};
  std::atomic<std::uint64_t> drops{};
};

/// What only the consumer writes.
struct alignas(cacheLine) ConsumerSide {
  explicit ConsumerSide(std::uint32_t slotCount) : holds(slotCount) {}

  LineArray<std::atomic<bool>> holds;
  std::atomic<std::uint64_t> taken{};
  std::atomic<std::uint64_t> skipped{};
  std::atomic<std::uint64_t> underruns{};
};

} // namespace

struct SlotRing::Impl {
  explicit Impl(const SlotRingConfig& config)
      : slotCount(config.slotCount),
        policy(config.policy),
        slots(config.slotCount),
        producer(config.slotCount),
        consumer(config.slotCount),
        ready(config.slotCount),
        free(config.slotCount) {
    for(std::uint32_t slot = 0; slot < slotCount; ++slot)
      free.push(slot);
  }

  bool closed() const noexcept {
    return producerClosed.load(std::memory_order_acquire) || consumerClosed.load(std::memory_order_acquire);
  }
  void close(std::atomic<bool>& side) noexcept {
    side.store(true, std::memory_order_release);
    producerGate.wake();
    consumerGate.wake();
  }

  // The producer's side.

  bool producerHolds(std::uint32_t slot) const noexcept { return slot < slotCount && producer.holds[slot]; }
  bool usable(std::uint32_t slot, bool& pending) noexcept {
    if(!slots[slot].whole())
      return false;
    const bool settled = slots[slot].settled();
    pending |= !settled;
    return settled;
  }
  bool popFree(std::uint32_t& slot, bool& pending) noexcept;
  bool unpark(std::uint32_t& slot, bool& pending) noexcept;
  RingStatus acquireNow(std::uint32_t& slot, bool& pending) noexcept;

  // The consumer's side.

  bool consumerHolds(std::uint32_t slot) const noexcept {
    return slot < slotCount && consumer.holds[slot].load(std::memory_order_relaxed);
  }
  bool popReady(std::uint32_t& slot, bool& pending) noexcept;
  bool popNewest(std::uint32_t& slot, bool& pending) noexcept;
  RingStatus takeNow(RingFrame& frame, bool& pending) noexcept;

  // Read by both sides and seldom written.
  const std::uint32_t slotCount;
  const RingPolicy policy;
  std::atomic<bool> producerClosed{};
  std::atomic<bool> consumerClosed{};
  WakeGate producerGate;
  WakeGate consumerGate;
  LineArray<RingSlot> slots;

  ProducerSide producer;
  ConsumerSide consumer;
  IndexQueue ready; ///< Published frames. Under Newest both sides pop; else the consumer does.
  IndexQueue free;  ///< Slots that the consumer gave back.
};

bool SlotRing::Impl::popFree(std::uint32_t& slot, bool& pending) noexcept {
  while(free.front(slot)) {
    free.popFront();
    if(usable(slot, pending))
      return true;
    producer.parked[producer.parkedCount++] = slot;
  }
  return false;
}

bool SlotRing::Impl::unpark(std::uint32_t& slot, bool& pending) noexcept {
  for(std::uint32_t i = 0; i < producer.parkedCount; ++i) {
    if(!usable(producer.parked[i], pending))
      continue;
    slot = producer.parked[i];
    producer.parked[i] = producer.parked[--producer.parkedCount];
    return true;
  }
  return false;
}

RingStatus SlotRing::Impl::acquireNow(std::uint32_t& slot, bool& pending) noexcept {
  if(closed())
    return RingStatus::Closed;
  std::uint32_t found{};
  while(!popFree(found, pending) && !unpark(found, pending)) {
    if(policy == RingPolicy::Fifo)
      return RingStatus::Empty;
    const IndexQueue::Position head = ready.head();
    if(head == ready.tail())
      return RingStatus::Empty;
    found = ready.at(head);
    if(!usable(found, pending))
      return RingStatus::Empty;
    if(ready.claim(head, head + 1)) {
      add(producer.drops, 1);
      break;
    }
    // The consumer took it, and has given back what it skipped, or will.
  }
  producer.holds[found] = true;
  slot = found;
  return RingStatus::Ok;
}

bool SlotRing::Impl::popReady(std::uint32_t& slot, bool& pending) noexcept {
  if(!ready.front(slot))
    return false;
  if(!slots[slot].settled()) {
    pending = true;
    return false;
  }
  ready.popFront();
  return true;
}

bool SlotRing::Impl::popNewest(std::uint32_t& slot, bool& pending) noexcept {
  IndexQueue::Position head{};
  IndexQueue::Position end{};
  do {
    pending = false;
    head = ready.head();
    end = ready.tail();
    for(; end != head && !slots[ready.at(end - 1)].settled(); --end)
      pending = true;
    if(end == head)
      return false;
  } while(!ready.claim(head, end));

  slot = ready.at(end - 1);
  if(end - head == 1)
    return true;
  for(IndexQueue::Position skipped = head; skipped != end - 1; ++skipped)
    free.push(ready.at(skipped));
  add(consumer.skipped, end - 1 - head);
  producerGate.signal();
  return true;
}

RingStatus SlotRing::Impl::takeNow(RingFrame& frame, bool& pending) noexcept {
  if(consumerClosed.load(std::memory_order_acquire))
    return RingStatus::Closed;
  const bool last = producerClosed.load(std::memory_order_acquire); // before looking for what it left
  std::uint32_t slot{};
  if(!(policy == RingPolicy::Fifo ? popReady(slot, pending) : popNewest(slot, pending)))
    return last && !pending ? RingStatus::Closed : RingStatus::Empty;
  consumer.holds[slot].store(true, std::memory_order_relaxed);
  add(consumer.taken, 1);
  const RingSlot& taken = slots[slot];
  frame = {.slot = slot,
           .sequence = taken.sequence,
           .timestamp = taken.timestamp,
           .bytes = taken.bytes,
           .bytesReady = taken.bytesReady.load(std::memory_order_acquire)};
  return RingStatus::Ok;
}

Result<SlotRing> SlotRing::make(const SlotRingConfig& config) {
  constexpr const char* call = "SlotRing::make";
  if(config.slotCount == 0)
    return libraryError(call, LibraryCode::SlotCountZero);
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
  ProducerSide& producer = m_impl->producer;
  producer.holds[slot] = false;
  producer.parked[producer.parkedCount++] = slot;
  return RingStatus::Ok;
}

RingStatus SlotRing::publish(std::uint32_t slot, std::int64_t timestamp, std::size_t bytes,
                             std::size_t bytesReady, RingCompletion completion) noexcept {
  if(!m_impl || !m_impl->producerHolds(slot) || bytesReady > bytes)
    return RingStatus::Misuse;
  if(m_impl->closed())
    return RingStatus::Closed;
  m_impl->producer.holds[slot] = false;
  RingSlot& frame = m_impl->slots[slot];
  frame.sequence = m_impl->producer.nextSequence++;
  frame.timestamp = timestamp;
  frame.bytes = bytes;
  frame.bytesReady.store(bytesReady, std::memory_order_relaxed);
  frame.setCompletion(completion);
  m_impl->ready.push(slot);
  m_impl->consumerGate.signal();
  return RingStatus::Ok;
}

RingStatus SlotRing::advance(std::uint32_t slot, std::size_t bytesReady) noexcept {
  if(slot >= slotCount() || m_impl->producer.holds[slot])
    return RingStatus::Misuse;
  RingSlot& frame = m_impl->slots[slot];
  if(frame.whole() || bytesReady > frame.bytes ||
     bytesReady < frame.bytesReady.load(std::memory_order_relaxed))
    return RingStatus::Misuse;
  frame.bytesReady.store(bytesReady, std::memory_order_seq_cst);
  m_impl->consumerGate.signal();
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
    m_impl->close(m_impl->producerClosed);
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
  return m_impl->slots[slot].bytesReady.load(std::memory_order_acquire);
}

RingStatus SlotRing::waitBytes(std::uint32_t slot, std::size_t bytes, nanoseconds timeout) noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot) || bytes > m_impl->slots[slot].bytes)
    return RingStatus::Misuse;
  return await(m_impl->consumerGate, timeout, [&](bool&) noexcept {
    const bool ended = m_impl->closed(); // before looking at how far it got
    if(m_impl->slots[slot].bytesReady.load(std::memory_order_seq_cst) >= bytes)
      return RingStatus::Ok;
    return ended ? RingStatus::Closed : RingStatus::Empty;
  });
}

RingStatus SlotRing::release(std::uint32_t slot, RingCompletion completion) noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot))
    return RingStatus::Misuse;
  m_impl->consumer.holds[slot].store(false, std::memory_order_relaxed);
  m_impl->slots[slot].setCompletion(completion);
  m_impl->free.push(slot);
  m_impl->producerGate.signal();
  return RingStatus::Ok;
}

void SlotRing::countUnderrun() noexcept {
  if(m_impl)
    add(m_impl->consumer.underruns, 1);
}

void SlotRing::closeConsumer() noexcept {
  if(m_impl)
    m_impl->close(m_impl->consumerClosed);
}

void SlotRing::notify() noexcept {
  if(!m_impl)
    return;
  m_impl->producerGate.wake();
  m_impl->consumerGate.wake();
}

} // namespace rdmagpu
