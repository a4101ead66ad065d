// What a slot's round trip costs (acquire, publish, take, release), beside the same trip of a slot's
// number, or of a whole frame's description as the ring carries it ("_frame"), through two
// single-producer single-consumer queues, one there and one back. Budget between threads: 2 times.
//
// The contenders run in turn, in batches, so that whatever else the machine does hits all of them. A
// contender's figure is the batch that a tenth of its batches beat: on a machine with other work the
// slower ones tell of the scheduler.
#include <iterations.hpp>
#include <rdmagpu/slot_ring.hpp>

#if defined(BENCH_BOOST)
#include <boost/lockfree/spsc_queue.hpp>
#endif
#if defined(BENCH_MOODYCAMEL)
#include <readerwriterqueue/readerwriterqueue.h>
#endif

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using rdmagpu::RingFrame;
using rdmagpu::RingPolicy;
using rdmagpu::RingStatus;
using rdmagpu::SlotRing;

template <RingPolicy Policy>
class Ring {
public:
  explicit Ring(std::uint32_t depth) : m_ring(std::move(*SlotRing::make({depth, Policy}))) {}
  bool produce() noexcept {
    std::uint32_t slot{};
    return m_ring.tryAcquire(slot) == RingStatus::Ok && m_ring.publish(slot, 0, 4096) == RingStatus::Ok;
  }
  bool consume() noexcept {
    RingFrame frame;
    return m_ring.tryTake(frame) == RingStatus::Ok && m_ring.release(frame.slot) == RingStatus::Ok;
  }

private:
  SlotRing m_ring;
};

/// What the ring's frames carry, for queues that are to carry as much.
RingFrame describe(std::uint32_t slot) noexcept {
  static std::uint64_t sequence{};
  return {.slot = slot, .sequence = sequence++, .timestamp = 0, .bytes = 4096, .bytesReady = 4096};
}

/// A queue of free slots' numbers and one of published slots: their numbers, or whole frames.
template <template <class> class Queue, class Item>
class QueuePair {
public:
  explicit QueuePair(std::uint32_t depth) : m_free(depth), m_ready(depth) {
    for(std::uint32_t slot = 0; slot < depth; ++slot)
      m_free.push(slot);
  }
  bool produce() noexcept {
    std::uint32_t slot{};
    if constexpr(std::is_same_v<Item, RingFrame>)
      return m_free.pop(slot) && m_ready.push(describe(slot));
    else
      return m_free.pop(slot) && m_ready.push(slot);
  }
  bool consume() noexcept {
    Item item{};
    if(!m_ready.pop(item))
      return false;
    if constexpr(std::is_same_v<Item, RingFrame>) {
      benchmark::DoNotOptimize(item);
      return m_free.push(item.slot);
    } else {
      return m_free.push(item);
    }
  }

private:
  Queue<std::uint32_t> m_free;
  Queue<Item> m_ready;
};

#if defined(BENCH_BOOST)
template <class Item>
using BoostQueue = boost::lockfree::spsc_queue<Item>;
#endif

#if defined(BENCH_MOODYCAMEL)
template <class Item>
class MoodycamelQueue {
public:
  explicit MoodycamelQueue(std::uint32_t depth) : m_queue(depth) {}
  bool push(const Item& item) noexcept { return m_queue.try_enqueue(item); }
  bool pop(Item& item) noexcept { return m_queue.try_dequeue(item); }

private:
  moodycamel::ReaderWriterQueue<Item> m_queue;
};
#endif

using Clock = std::chrono::steady_clock;
constexpr int trips = 20'000;

/// Nanoseconds a round trip, over one batch.
using Batch = double (*)(std::uint32_t depth);

template <class Courier>
double oneThread(std::uint32_t depth) {
  Courier courier{depth};
  const Clock::time_point start = Clock::now();
  for(int i = 0; i < trips; ++i) {
    if(!courier.produce() || !courier.consume())
      std::abort();
  }
  return std::chrono::duration<double, std::nano>{Clock::now() - start}.count() / trips;
}

/// Polls; gives way only when the other side must have lost its processor.
template <class Attempt>
void poll(Attempt attempt) {
  for(int failures = 1; !attempt(); ++failures) {
    if(failures % 1000 == 0)
      std::this_thread::yield();
  }
}

template <class Courier>
double twoThreads(std::uint32_t depth) {
  Courier courier{depth};
  std::atomic<bool> running{};
  std::thread consumer{[&] {
    running = true;
    for(int i = 0; i < trips; ++i)
      poll([&] { return courier.consume(); });
  }};
  poll([&] { return running.load(); });
  const Clock::time_point start = Clock::now();
  for(int i = 0; i < trips; ++i)
    poll([&] { return courier.produce(); });
  consumer.join();
  return std::chrono::duration<double, std::nano>{Clock::now() - start}.count() / trips;
}

struct Contender {
  std::string name;
  Batch oneThread;
  Batch twoThreads;
  std::vector<double> batches{};

  double fastestTenth() {
    const auto tenth = batches.begin() + std::ssize(batches) / 10;
    std::nth_element(batches.begin(), tenth, batches.end());
    return *tenth;
  }
};

template <class Courier>
Contender contender(const char* name) {
  return {name, &oneThread<Courier>, &twoThreads<Courier>};
}

void handover(benchmark::State& state, bool threads) {
  std::vector<Contender> contenders {
    contender<Ring<RingPolicy::Fifo>>("ring"), contender<Ring<RingPolicy::Newest>>("ring_newest"),
#if defined(BENCH_BOOST)
        contender<QueuePair<BoostQueue, std::uint32_t>>("boost"),
        contender<QueuePair<BoostQueue, RingFrame>>("boost_frame"),
#endif
#if defined(BENCH_MOODYCAMEL)
        contender<QueuePair<MoodycamelQueue, std::uint32_t>>("moodycamel"),
        contender<QueuePair<MoodycamelQueue, RingFrame>>("moodycamel_frame"),
#endif
  };
  if(threads) // Newest drops frames when both sides run: another job, not a slower one
    contenders.erase(contenders.begin() + 1);
  const auto depth = static_cast<std::uint32_t>(state.range(0));
  for([[maybe_unused]] auto _ : state) {
    for(Contender& one : contenders)
      one.batches.push_back((threads ? one.twoThreads : one.oneThread)(depth));
  }
  const double ring = contenders[0].fastestTenth();
  for(Contender& one : contenders) {
    state.counters[one.name + "_ns"] = one.fastestTenth();
    if(&one != &contenders[0])
      state.counters["ring/" + one.name] = ring / one.fastestTenth();
  }
}

void BM_OneThread(benchmark::State& state) { handover(state, false); }
void BM_TwoThreads(benchmark::State& state) { handover(state, true); }

void perDepth(benchmark::internal::Benchmark* handover) {
  handover->Arg(1)->Arg(4)->Arg(16)->Arg(64)->Iterations(rdmagpu::bench::iterations(101));
  handover->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_OneThread)->Apply(perDepth);
BENCHMARK(BM_TwoThreads)->Apply(perDepth);

} // namespace

BENCHMARK_MAIN();
