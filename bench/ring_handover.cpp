// What a slot's round trip costs (acquire, publish, take, release), beside the same trip of a slot's
// number through two single-producer single-consumer queues, one there and one back. Budget: 2 times.
//
// The contenders run in turn, in batches, so that whatever else the machine does hits all of them. A
// contender's figure is the batch that a tenth of its batches beat: on a machine
// with other work the slower ones tell of the scheduler.
#include <rdmagpu/slot_ring.hpp>

#if defined(BENCH_BOOST)
#include <boost/lockfree/spsc_queue.hpp>
#endif
#if defined(BENCH_MOODYCAMEL)
#include <readerwriterqueue/readerwriterqueue.h>
#endif

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
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

template <class Queue>
class QueuePair {
public:
  explicit QueuePair(std::uint32_t depth) : m_free(depth), m_ready(depth) {
    for(std::uint32_t slot = 0; slot < depth; ++slot)
      m_free.push(slot);
  }
  bool produce() noexcept {
    std::uint32_t slot{};
    return m_free.pop(slot) && m_ready.push(slot);
  }
  bool consume() noexcept {
    std::uint32_t slot{};
    return m_ready.pop(slot) && m_free.push(slot);
  }

private:
  Queue m_free;
  Queue m_ready;
};

#if defined(BENCH_BOOST)
using Boost = QueuePair<boost::lockfree::spsc_queue<std::uint32_t>>;
#endif

#if defined(BENCH_MOODYCAMEL)
class MoodycamelQueue {
public:
  explicit MoodycamelQueue(std::uint32_t depth) : m_queue(depth) {}
  bool push(std::uint32_t slot) noexcept { return m_queue.try_enqueue(slot); }
  bool pop(std::uint32_t& slot) noexcept { return m_queue.try_dequeue(slot); }

private:
  moodycamel::ReaderWriterQueue<std::uint32_t> m_queue;
};
using Moodycamel = QueuePair<MoodycamelQueue>;
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

template <class Courier>
double twoThreads(std::uint32_t depth) {
  Courier courier{depth};
  std::thread consumer{[&] {
    for(int i = 0; i < trips;)
      i += courier.consume() ? 1 : 0;
  }};
  while(!courier.produce()) {
  }
  const Clock::time_point start = Clock::now();
  for(int i = 1; i < trips;)
    i += courier.produce() ? 1 : 0;
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
        contender<Boost>("boost"),
#endif
#if defined(BENCH_MOODYCAMEL)
        contender<Moodycamel>("moodycamel"),
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

BENCHMARK(BM_OneThread)->Arg(1)->Arg(4)->Arg(16)->Arg(64)->Iterations(101)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TwoThreads)->Arg(1)->Arg(4)->Arg(16)->Arg(64)->Iterations(101)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
