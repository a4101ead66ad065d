// How long a consumer that sleeps takes to run once a frame is published, beside a bare futex: one
// thread that stores and wakes, one that waits. Budget: 2 times at the 99th percentile.
//
// The two take turns in short blocks, so that whatever else the machine does hits both.
#include <iterations.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;
using rdmagpu::RingFrame;
using rdmagpu::RingPolicy;
using rdmagpu::RingStatus;
using rdmagpu::SlotRing;

class Ring {
public:
  void wake() noexcept {
    std::uint32_t slot{};
    m_ring.tryAcquire(slot);
    m_ring.publish(slot, 0, 4096);
  }
  void wait() noexcept {
    RingFrame frame;
    m_ring.take(frame, std::chrono::nanoseconds{-1});
    m_ring.release(frame.slot);
  }

private:
  SlotRing m_ring = std::move(*SlotRing::make({4, RingPolicy::Fifo}));
};

class Futex {
public:
  void wake() noexcept {
    m_word.store(1);
    ::syscall(SYS_futex, &m_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void wait() noexcept {
    while(m_word.load() == 0)
      ::syscall(SYS_futex, &m_word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    m_word.store(0);
  }

private:
  std::atomic<std::uint32_t> m_word{};
};

/// Appends the nanoseconds from just before each wake-up until the woken thread ran.
template <class Waker>
void measure(Waker& waker, int samples, std::vector<double>& latencies) {
  std::atomic<int> woken{};
  std::vector<Clock::time_point> ran(static_cast<std::size_t>(samples));
  std::thread sleeper{[&] {
    for(Clock::time_point& time : ran) {
      waker.wait();
      time = Clock::now();
      ++woken;
    }
  }};
  for(int i = 0; i < samples; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds{200}); // until the other sleeps
    const Clock::time_point start = Clock::now();
    waker.wake();
    while(woken != i + 1)
      std::this_thread::yield();
    latencies.push_back(
        std::chrono::duration<double, std::nano>{ran[static_cast<std::size_t>(i)] - start}.count());
  }
  sleeper.join();
}

double percentile(std::vector<double>& values, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  const auto at = values.begin() + std::max(static_cast<std::ptrdiff_t>(rank) - 1, std::ptrdiff_t{});
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void BM_Wakeup(benchmark::State& state) {
  Ring ring;
  Futex futex;
  std::vector<double> ringTimes;
  std::vector<double> futexTimes;
  for([[maybe_unused]] auto _ : state) {
    measure(ring, 100, ringTimes);
    measure(futex, 100, futexTimes);
  }
  for(const auto& [name, percent] : {std::pair{"p50", 50.0}, {"p99", 99.0}, {"p99.9", 99.9}}) {
    const double a = percentile(ringTimes, percent);
    const double b = percentile(futexTimes, percent);
    state.counters[std::string{"ring_"} + name + "_ns"] = a;
    state.counters[std::string{"futex_"} + name + "_ns"] = b;
    state.counters[std::string{"ring/futex_"} + name] = a / b;
  }
}

BENCHMARK(BM_Wakeup)->Iterations(rdmagpu::bench::iterations(50))->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
