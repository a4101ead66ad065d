#include <rdmagpu/slot_ring.hpp>

#include <base/library_error.hpp>
#include <core/cache_line.hpp>
#include <core/slot_completion.hpp>
#include <core/slot_queue.hpp>
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

/// A published frame in the queue. It lies beside the slot's number, in the same cache line.
struct alignas(cacheLine) ReadyFrame {
  std::atomic<std::uint32_t> slot{}; ///< Under Newest looked at before the cell is claimed.
  bool whole{};
  std::uint64_t sequence{};
  std::int64_t timestamp{};
  std::size_t bytes{};
};

/// How far the producer has come with a frame.
struct Progress {
  std::size_t bytes{};
  std::atomic<std::size_t> bytesReady{};

  /// The producer's to ask.
  bool whole() const noexcept { return bytesReady.load(std::memory_order_relaxed) == bytes; }
};

/// What only the producer writes.
struct alignas(cacheLine) ProducerSide {
  explicit ProducerSide(std::uint32_t slotCount) : holds(slotCount), parked(slotCount), progress(slotCount) {}

  LineArray<bool> holds;
  LineArray<std::uint32_t> parked; ///< Free slots that could not be used when they came, or were abandoned.
  std::uint32_t parkedCount{};
  std::uint64_t nextSequence{};
  std::atomic<std::uint64_t> drops{};
  LineArray<Progress> progress;
};

/// What only the consumer writes.
struct alignas(cacheLine) ConsumerSide {
  explicit ConsumerSide(std::uint32_t slotCount) : holds(slotCount) {}

  LineArray<std::atomic<bool>> holds;
  std::atomic<std::uint64_t> taken{};
  std::atomic<std::uint64_t> skipped{};
  std::atomic<std::uint64_t> underruns{};
};

using ReadyQueue = SlotQueue<ReadyFrame>;
using FreeQueue = SlotQueue<std::uint32_t>;

enum Side : std::uint8_t { Producer = 1, Consumer = 2 };

} // namespace

struct SlotRing::Impl {
  explicit Impl(const SlotRingConfig& config)
      : slotCount(config.slotCount),
        policy(config.policy),
        completions(config.slotCount),
        producer(config.slotCount),
        consumer(config.slotCount),
        ready(config.slotCount),
        free(config.slotCount) {
    for(std::uint32_t slot = 0; slot < slotCount; ++slot)
      giveBack(slot);
  }

  bool closed() const noexcept { return closedSides.load(std::memory_order_acquire) != 0; }
  bool closed(Side side) const noexcept { return (closedSides.load(std::memory_order_acquire) & side) != 0; }
  void close(Side side) noexcept {
    closedSides.fetch_or(side, std::memory_order_release);
    notify();
  }
  void notify() noexcept {
    producerGate.wake();
    consumerGate.wake();
  }

  // The producer's side.

  bool producerHolds(std::uint32_t slot) const noexcept { return slot < slotCount && producer.holds[slot]; }
  bool usable(std::uint32_t slot, bool& pending) noexcept {
    if(!producer.progress[slot].whole())
      return false;
    const bool done = completions[slot].done();
    pending |= !done;
    return done;
  }
  void park(std::uint32_t slot) noexcept { producer.parked[producer.parkedCount++] = slot; }
  bool popFree(std::uint32_t& slot, bool& pending) noexcept;
  bool unpark(std::uint32_t& slot, bool& pending) noexcept;
  bool takeBack(std::uint32_t& slot, bool& pending) noexcept;
  RingStatus acquireNow(std::uint32_t& slot, bool& pending) noexcept;

  // The consumer's side.

  bool consumerHolds(std::uint32_t slot) const noexcept {
    return slot < slotCount && consumer.holds[slot].load(std::memory_order_relaxed);
  }
  void giveBack(std::uint32_t slot) noexcept {
    free.back() = slot;
    free.push();
  }
  const ReadyFrame* popNext(bool& pending) noexcept;
  const ReadyFrame* popNewest(bool& pending) noexcept;
  RingStatus takeNow(RingFrame& frame, bool& pending) noexcept;

  // Read by both sides and seldom written.
  const std::uint32_t slotCount;
  const RingPolicy policy;
  std::atomic<std::uint8_t> closedSides{}; ///< Of Side.
  WakeGate producerGate;
  WakeGate consumerGate;
  LineArray<SlotCompletion> completions;

  ProducerSide producer;
  ConsumerSide consumer;
  ReadyQueue ready; ///< Under Newest both sides pop; else the consumer does.
  FreeQueue free;
};

inline bool SlotRing::Impl::popFree(std::uint32_t& slot, bool& pending) noexcept {
  while(const std::uint32_t* front = free.front()) {
    slot = *front;
    free.pop();
    if(usable(slot, pending))
      return true;
    park(slot);
  }
  return false;
}

bool SlotRing::Impl::unpark(std::uint32_t& slot, bool& pending) noexcept {
  for(std::uint32_t i = 0; i < producer.parkedCount; ++i) {
    slot = producer.parked[i];
    if(!usable(slot, pending))
      continue;
    producer.parked[i] = producer.parked[--producer.parkedCount];
    return true;
  }
  return false;
}

bool SlotRing::Impl::takeBack(std::uint32_t& slot, bool& pending) noexcept {
  for(;;) {
    const ReadyQueue::Position head = ready.head();
    if(head == ready.tail())
      return false;
    slot = ready.at(head).slot.load(std::memory_order_relaxed);
    if(!usable(slot, pending))
      return false;
    if(ready.claim(head, head + 1)) {
      add(producer.drops, 1);
      return true;
    }
  }
}

RingStatus SlotRing::Impl::acquireNow(std::uint32_t& slot, bool& pending) noexcept {
  if(closed())
    return RingStatus::Closed;
  std::uint32_t found{};
  if(!popFree(found, pending) && !unpark(found, pending) &&
     !(policy == RingPolicy::Newest && takeBack(found, pending)))
    return RingStatus::Empty;
  producer.holds[found] = true;
  slot = found;
  return RingStatus::Ok;
}

const ReadyFrame* SlotRing::Impl::popNext(bool& pending) noexcept {
  const ReadyFrame* next = ready.front();
  if(!next)
    return nullptr;
  pending = !completions[next->slot.load(std::memory_order_relaxed)].done();
  if(pending)
    return nullptr;
  ready.pop();
  return next;
}

const ReadyFrame* SlotRing::Impl::popNewest(bool& pending) noexcept {
  ReadyQueue::Position head{};
  ReadyQueue::Position end{};
  do {
    pending = false;
    head = ready.head();
    end = ready.tail();
    while(end != head && !completions[ready.at(end - 1).slot.load(std::memory_order_relaxed)].done()) {
      pending = true;
      --end;
    }
    if(end == head)
      return nullptr;
  } while(!ready.claim(head, end));

  const ReadyQueue::Position newest = end - 1;
  if(head != newest) {
    add(consumer.skipped, newest - head);
    for(; head != newest; ++head)
      giveBack(ready.at(head).slot.load(std::memory_order_relaxed));
    producerGate.signal();
  }
  return &ready.at(newest);
}

RingStatus SlotRing::Impl::takeNow(RingFrame& frame, bool& pending) noexcept {
  if(closed(Consumer))
    return RingStatus::Closed;
  const bool last = closed(Producer); // before looking for what it left
  const ReadyFrame* found = policy == RingPolicy::Fifo ? popNext(pending) : popNewest(pending);
  if(!found)
    return last && !pending ? RingStatus::Closed : RingStatus::Empty;
  const std::uint32_t slot = found->slot.load(std::memory_order_relaxed);
  frame = {.slot = slot,
           .sequence = found->sequence,
           .timestamp = found->timestamp,
           .bytes = found->bytes,
           .bytesReady = found->bytes};
  if(!found->whole)
    frame.bytesReady = producer.progress[slot].bytesReady.load(std::memory_order_acquire);
  consumer.holds[slot].store(true, std::memory_order_relaxed);
  add(consumer.taken, 1);
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
  ProducerSide& producer = m_impl->producer;
  producer.holds[slot] = false;
  producer.progress[slot].bytes = bytes;
  producer.progress[slot].bytesReady.store(bytesReady, std::memory_order_relaxed);
  m_impl->completions[slot].set(completion);
  ReadyFrame& frame = m_impl->ready.back();
  frame.slot.store(slot, std::memory_order_relaxed);
  frame.whole = bytesReady == bytes;
  frame.sequence = producer.nextSequence++;
  frame.timestamp = timestamp;
  frame.bytes = bytes;
  m_impl->ready.push();
  m_impl->consumerGate.signal();
  return RingStatus::Ok;
}

RingStatus SlotRing::advance(std::uint32_t slot, std::size_t bytesReady) noexcept {
  if(slot >= slotCount() || m_impl->producer.holds[slot])
    return RingStatus::Misuse;
  Progress& progress = m_impl->producer.progress[slot];
  if(progress.whole() || bytesReady > progress.bytes ||
     bytesReady < progress.bytesReady.load(std::memory_order_relaxed))
    return RingStatus::Misuse;
  progress.bytesReady.store(bytesReady, std::memory_order_release);
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
  return m_impl->producer.progress[slot].bytesReady.load(std::memory_order_acquire);
}

RingStatus SlotRing::waitBytes(std::uint32_t slot, std::size_t bytes, nanoseconds timeout) noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot) || bytes > m_impl->producer.progress[slot].bytes)
    return RingStatus::Misuse;
  return await(m_impl->consumerGate, timeout, [&](bool&) noexcept {
    const bool ended = m_impl->closed(); // before looking at how far it got
    if(m_impl->producer.progress[slot].bytesReady.load(std::memory_order_acquire) >= bytes)
      return RingStatus::Ok;
    return ended ? RingStatus::Closed : RingStatus::Empty;
  });
}

RingStatus SlotRing::release(std::uint32_t slot, RingCompletion completion) noexcept {
  if(!m_impl || !m_impl->consumerHolds(slot))
    return RingStatus::Misuse;
  m_impl->consumer.holds[slot].store(false, std::memory_order_relaxed);
  m_impl->completions[slot].set(completion);
  m_impl->giveBack(slot);
  m_impl->producerGate.signal();
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
