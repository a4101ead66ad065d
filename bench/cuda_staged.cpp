// The staged path beside the direct one and beside bare copies, each in turn in the same run. Budget: a frame
// that arrives in slices is ready within 50 us of the direct path, at the median and at the 99th percentile,
// of which the driver's part is told beside it; as many frames a second as 0.95 of pipelined copies from
// pinned memory. Without CUDA's driver and a GPU it says so and ends with 0.
#include <cuda_main.hpp>
#include <side_by_side.hpp>

#include <rdmagpu/staged_buffer.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace rdmagpu;
using bench::cuda;
namespace api = driver::cuda;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t slotCount = 8;
constexpr std::size_t frame2160p = 22'118'400; // 3840x2160 v210
constexpr int slices = 32;
constexpr std::chrono::nanoseconds frameTime{16'666'667};

/// A stand-in's time is not worth anybody's.
bool isSoftware = false;

StagedBufferConfig config(SlotFlow flow, SlotPath path, std::size_t frameBytes) {
  return {.buffer = {.api = RdmaGpuApi::Cuda,
                     .slotCount = slotCount,
                     .frameBytes = frameBytes,
                     .host = {.lock = PageLock::Off}},
          .flow = flow,
          .path = path};
}

/// How frames come to the consumer, and how it waits for them.
struct Contender {
  const char* name;
  SlotPath path;
  bool inSlices;
  bool sleeps;
};
constexpr std::array contenders{
    Contender{"direct", SlotPath::Direct, true, false},
    Contender{"sliced", SlotPath::Staged, true, false},
    Contender{"whole", SlotPath::Staged, false, false},
    Contender{"direct_asleep", SlotPath::Direct, true, true},
    Contender{"sliced_asleep", SlotPath::Staged, true, true},
};

/// One path, its producer on the calling thread and its consumer on a thread of its own.
class Race {
public:
  Race(const Contender& contender, SlotFlow flow, StagedBuffer staged)
      : m_contender(contender),
        m_flow(flow),
        m_staged(std::move(staged)),
        m_source(frame2160p / slices, std::byte{0x5A}),
        m_consumer([this] { consume(); }) {}
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;
  ~Race() {
    m_staged.ring().closeProducer();
    wakeConsumer();
    m_consumer.join();
  }

  /// Produces one frame, as a card does at 60 frames a second, and notes how long after its last byte the
  /// consumer had it. False if it never had.
  bool frame() {
    std::uint32_t slot{};
    if(m_staged.ring().acquire(slot, std::chrono::seconds{10}) != RingStatus::Ok)
      return false;
    wakeConsumer();
    const Clock::time_point start = Clock::now();
    constexpr std::size_t slice = frame2160p / slices;
    for(int i = 0; i < slices; ++i) {
      std::this_thread::sleep_until(start + frameTime * (i + 1) / slices);
      if(m_flow == SlotFlow::Capture && m_contender.path == SlotPath::Staged)
        std::memcpy(static_cast<std::byte*>(cpuAddress(m_staged.handoff(slot))) + slice * std::size_t(i),
                    m_source.data(), slice);
      pass(slot, slice * (std::size_t(i) + 1));
    }
    const Clock::time_point end = Clock::now() + std::chrono::seconds{10};
    while(!m_had.exchange(false, std::memory_order_acquire))
      if(Clock::now() > end)
        return false;
    latencies.push_back(std::chrono::duration<double, std::micro>(m_ready - m_last).count());
    return true;
  }

  std::size_t sliceBytes() const noexcept { return m_staged.facts().sliceBytes; }
  const char* name() const noexcept { return m_contender.name; }
  std::vector<double> latencies;

private:
  /// Lets it begin to wait for a frame.
  void wakeConsumer() noexcept {
    m_next.store(true, std::memory_order_release);
    m_next.notify_one();
  }

  void pass(std::uint32_t slot, std::size_t ready) {
    SlotRing& ring = m_staged.ring();
    if(ready == frame2160p)
      m_last = Clock::now();
    if(!m_contender.inSlices && ready == frame2160p)
      ring.publish(slot, 0, frame2160p);
    else if(m_contender.inSlices && ready == frame2160p / slices)
      ring.publish(slot, 0, frame2160p, ready);
    else if(m_contender.inSlices)
      ring.advance(slot, ready);
  }

  void consume() {
    for(;;) {
      m_next.wait(false, std::memory_order_acquire);
      m_next.store(false, std::memory_order_relaxed);
      RingFrame frame;
      if(!take(frame))
        return;
      m_ready = Clock::now();
      m_staged.ring().release(frame.slot);
      m_had.store(true, std::memory_order_release);
    }
  }
  bool take(RingFrame& frame) {
    SlotRing& ring = m_staged.ring();
    constexpr std::chrono::nanoseconds untilWoken{-1};
    if(m_contender.sleeps)
      return ring.take(frame, untilWoken) == RingStatus::Ok &&
             ring.waitBytes(frame.slot, frame.bytes, untilWoken) == RingStatus::Ok;
    RingStatus status = RingStatus::Empty;
    while((status = ring.tryTake(frame)) == RingStatus::Empty)
      ;
    while(status == RingStatus::Ok && ring.bytesReady(frame.slot) < frame.bytes)
      ;
    return status == RingStatus::Ok;
  }

  const Contender m_contender;
  const SlotFlow m_flow;
  StagedBuffer m_staged;
  const std::vector<std::byte> m_source;
  std::atomic<bool> m_next{};
  std::atomic<bool> m_had{};
  Clock::time_point m_last{};  ///< The producer's, until the frame was had.
  Clock::time_point m_ready{}; ///< The consumer's, as long as that.
  std::thread m_consumer;
};

/// The same slices between the same memory by one thread with nothing but the driver: what no path can be
/// faster than, and how far that varies by itself.
class BareSlices {
public:
  BareSlices(SlotFlow flow, StagedBuffer staged)
      : m_flow(flow), m_staged(std::move(staged)), m_source(frame2160p / slices, std::byte{0x5A}) {
    check(cuda().streamCreate(&m_stream, api::StreamFlags::NonBlocking));
    check(cuda().eventCreate(&m_done, api::EventFlags::DisableTiming));
  }
  BareSlices(const BareSlices&) = delete;
  BareSlices& operator=(const BareSlices&) = delete;
  ~BareSlices() {
    static_cast<void>(cuda().eventDestroy(m_done));
    static_cast<void>(cuda().streamDestroy(m_stream));
  }

  bool frame() {
    const Clock::time_point start = Clock::now();
    constexpr std::size_t slice = frame2160p / slices;
    std::byte* const host = static_cast<std::byte*>(cpuAddress(m_staged.handoff(0)));
    const api::DevicePtr device = addressBits(m_staged.applicationBuffer().handoff(0));
    Clock::time_point last;
    for(std::size_t i = 0; i < slices; ++i) {
      std::this_thread::sleep_until(start + frameTime * (i + 1) / slices);
      if(m_flow == SlotFlow::Capture)
        std::memcpy(host + slice * i, m_source.data(), slice);
      last = Clock::now();
      check(m_flow == SlotFlow::Capture
                ? cuda().memcpyHtoDAsync(device + slice * i, host + slice * i, slice, m_stream)
                : cuda().memcpyDtoHAsync(host + slice * i, device + slice * i, slice, m_stream));
    }
    check(cuda().eventRecord(m_done, m_stream));
    while(m_good && cuda().eventQuery(m_done) != api::Status::Success)
      m_good = Clock::now() - last < std::chrono::seconds{10};
    latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - last).count());
    return m_good;
  }

  std::vector<double> latencies;

private:
  void check(api::Status status) noexcept { m_good = m_good && status == api::Status::Success; }

  const SlotFlow m_flow;
  StagedBuffer m_staged;
  const std::vector<std::byte> m_source;
  api::Stream m_stream{};
  api::Event m_done{};
  bool m_good = true;
};

double percentile(std::vector<double>& values, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  const auto at = values.begin() + std::max(static_cast<std::ptrdiff_t>(rank) - 1, std::ptrdiff_t{});
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void LastByteToReady(benchmark::State& state, SlotFlow flow) {
  auto memory = StagedBuffer::make(config(flow, SlotPath::Staged, frame2160p));
  if(!memory) {
    state.SkipWithError(memory.error().message().c_str());
    return;
  }
  BareSlices bare{flow, *std::move(memory)};
  std::vector<std::unique_ptr<Race>> races;
  for(const Contender& contender : contenders) {
    auto staged = StagedBuffer::make(config(flow, contender.path, frame2160p));
    if(!staged) {
      state.SkipWithError(staged.error().message().c_str());
      return;
    }
    races.push_back(std::make_unique<Race>(contender, flow, *std::move(staged)));
  }
  bool good = true;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    for(const auto& race : races)
      good = good && race->frame();
    good = good && bare.frame();
  }
  if(!good) {
    state.SkipWithError("a frame did not arrive");
    return;
  }
  const auto tell = [&](const std::string& name, std::vector<double>& latencies) {
    state.counters[name + "_p50_us"] = percentile(latencies, 50);
    state.counters[name + "_p99_us"] = percentile(latencies, 99);
  };
  for(const auto& race : races)
    tell(race->name(), race->latencies);
  tell("bare_slices", bare.latencies);
  state.counters["slice_bytes"] = static_cast<double>(races[1]->sliceBytes());
}
BENCHMARK_CAPTURE(LastByteToReady, capture, SlotFlow::Capture)
    ->Iterations(400)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(LastByteToReady, playout, SlotFlow::Playout)
    ->Iterations(400)
    ->Unit(benchmark::kMillisecond);

/// Frames through the ring as fast as they go; false if one was lost.
bool passFrames(StagedBuffer& staged, std::size_t frameBytes, int count) {
  SlotRing& ring = staged.ring();
  std::thread consumer{[&] {
    RingFrame frame;
    for(int i = 0; i < count && ring.take(frame, std::chrono::seconds{10}) == RingStatus::Ok; ++i)
      ring.release(frame.slot);
  }};
  const std::uint64_t before = ring.counters().taken;
  std::uint32_t slot{};
  for(int i = 0; i < count && ring.acquire(slot, std::chrono::seconds{10}) == RingStatus::Ok; ++i)
    ring.publish(slot, 0, frameBytes);
  consumer.join();
  return ring.counters().taken - before == static_cast<std::uint64_t>(count);
}

/// The same frames, between the same memory, with nothing but the driver: two streams, never idle.
class BareCopies {
public:
  BareCopies(const StagedBuffer& staged, SlotFlow flow) : m_staged(staged), m_flow(flow) {
    for(api::Stream& stream : m_streams)
      check(cuda().streamCreate(&stream, api::StreamFlags::NonBlocking));
  }
  BareCopies(const BareCopies&) = delete;
  BareCopies& operator=(const BareCopies&) = delete;
  ~BareCopies() {
    for(const api::Stream stream : m_streams)
      static_cast<void>(cuda().streamDestroy(stream));
  }

  bool pass(std::size_t frameBytes, int count) {
    for(int n = 0; n < count; ++n) {
      const auto i = static_cast<std::size_t>(n) % slotCount;
      void* const host = cpuAddress(m_staged.handoff(i));
      const api::DevicePtr device = addressBits(m_staged.applicationBuffer().handoff(i));
      const api::Stream stream = m_streams[i % m_streams.size()];
      check(m_flow == SlotFlow::Capture ? cuda().memcpyHtoDAsync(device, host, frameBytes, stream)
                                        : cuda().memcpyDtoHAsync(host, device, frameBytes, stream));
    }
    for(const api::Stream stream : m_streams)
      check(cuda().streamSynchronize(stream));
    return m_good;
  }

private:
  void check(api::Status status) noexcept { m_good = m_good && status == api::Status::Success; }

  const StagedBuffer& m_staged;
  SlotFlow m_flow;
  std::array<api::Stream, 2> m_streams{};
  bool m_good = true;
};

/// "ratio" is ours over theirs in frames a second.
void FramesASecondAgainstBareCopies(benchmark::State& state, SlotFlow flow) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const int count = isSoftware ? 16 : static_cast<int>(4'000'000'000 / bytes);
  auto staged = StagedBuffer::make(config(flow, SlotPath::Staged, bytes));
  if(!staged) {
    state.SkipWithError(staged.error().message().c_str());
    return;
  }
  BareCopies bare{*staged, flow};
  bool good = passFrames(*staged, bytes, 2 * slotCount) && bare.pass(bytes, 2 * slotCount); // warm
  bench::SideBySide times;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    times.round([&] { good = passFrames(*staged, bytes, count) && good; },
                [&] { good = bare.pass(bytes, count) && good; });
  }
  if(!good)
    state.SkipWithError("a copy failed, or a frame was lost");
  times.report(state);
  const double total = static_cast<double>(bytes) * count;
  state.counters["ours_gbps"] = total / state.counters["ours_us"] / 1e3;
  state.counters["bare2_gbps"] = total / state.counters["theirs_us"] / 1e3;
  state.counters["ratio"] = state.counters["theirs_us"] / state.counters["ours_us"];
}
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")->Arg(4'147'200)->Arg(22'118'400)->Iterations(10)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(FramesASecondAgainstBareCopies, capture, SlotFlow::Capture)->Apply(sizes);
BENCHMARK_CAPTURE(FramesASecondAgainstBareCopies, playout, SlotFlow::Playout)->Apply(sizes);

/// Whether there is anything to measure, and on what.
bool findGpu() {
  const auto staged = StagedBuffer::make(config(SlotFlow::Capture, SlotPath::Staged, frame2160p));
  if(!staged) {
    std::fprintf(stderr, "bench_cuda_staged: skipped: %s\n", staged.error().message().c_str());
    return false;
  }
  benchmark::AddCustomContext("gpu", staged->facts().application.device);
  isSoftware = staged->facts().application.device.starts_with("rdmagpu software device");
  if(isSoftware)
    benchmark::AddCustomContext("note", "software device: the numbers mean nothing");
  return true;
}

} // namespace

int main(int argc, char** argv) { return bench::runOnCuda(argc, argv, findGpu); }
