// Frames through the slots of a GPU as `rdmagpu stream` moves them, beside bare copies of the same frames in
// the same run. Budget: 0.95 of the best of 1, 2 and 4 streams. Without CUDA's driver
// and a GPU that peers can reach it says so and ends with 0.
#include <cuda_main.hpp>

#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rdmagpu;
using bench::cuda;
namespace api = driver::cuda;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t slotCount = 8;
constexpr std::array streamCounts{1U, 2U, 4U};

/// A stand-in's time is not worth anybody's.
std::size_t filmBytes = std::size_t{4} << 30U;

enum class Way : std::uint8_t { Capture, PlayoutRead, Playout };

/// Frames that stay where they are, as preloaded ones do.
class Film final : public FrameSource {
public:
  Film(std::size_t frameBytes, GpuPin pin)
      : m_bytes(frameBytes),
        m_memory(RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                      .slotCount = 2 * slotCount,
                                      .frameBytes = frameBytes,
                                      .host = {.lock = PageLock::Off, .gpuPin = pin}})) {
    for(std::uint32_t i = 0; good() && i < 2 * slotCount; ++i)
      std::memset(at(i).data(), static_cast<int>(i + 1), frameBytes);
  }

  bool good() const noexcept { return m_memory.has_value(); }
  std::span<std::byte> at(std::uint64_t n) const noexcept {
    return {static_cast<std::byte*>(m_memory->slot(n % (2 * slotCount)).gpuVA), m_bytes};
  }

  void rewind(std::uint64_t count) noexcept { m_left = count; }
  std::span<const std::byte> next() override { return m_left == 0 ? Frame{} : Frame{at(--m_left)}; }
  std::size_t framesKept() const noexcept override { return std::numeric_limits<std::size_t>::max(); }

private:
  using Frame = std::span<const std::byte>;
  std::size_t m_bytes;
  Result<RdmaGpuBuffer> m_memory;
  std::uint64_t m_left{};
};

/// Frames a second from the first that came out to the last: what starting costs is none of it.
class Meter {
public:
  void frame() {
    m_last = Clock::now();
    if(m_count++ == 0)
      m_first = m_last;
  }
  double perSecond() const {
    return static_cast<double>(m_count - 1) / std::chrono::duration<double>(m_last - m_first).count();
  }
  std::uint64_t count() const noexcept { return m_count; }

private:
  std::uint64_t m_count{};
  Clock::time_point m_first{};
  Clock::time_point m_last{};
};

class MeteredSink final : public FrameSink {
public:
  bool frame(std::uint64_t, std::uint32_t, std::span<const std::byte>) override {
    meter.frame();
    return true;
  }
  Meter meter;
};

/// What one frame size needs, and the ways to move `count` frames of it; each answers frames a second, or 0
/// for a failure.
class Contest {
public:
  explicit Contest(std::size_t frameBytes)
      : m_bytes(frameBytes),
        m_count(std::max<std::uint64_t>(filmBytes / frameBytes, 4 * slotCount)),
        m_pinned(frameBytes, GpuPin::Require),
        m_pageable(frameBytes, GpuPin::Off),
        m_received(frameBytes, GpuPin::Require),
        m_buffer(RdmaGpuBuffer::make(
            {.api = RdmaGpuApi::Cuda, .slotCount = slotCount, .frameBytes = frameBytes})) {}

  bool good() const noexcept {
    return m_pinned.good() && m_pageable.good() && m_received.good() && m_buffer.has_value();
  }

  double ours(Way way, bool pinned) {
    Film& film = pinned ? m_pinned : m_pageable;
    return way == Way::Capture ? capture(film) : playout(film, way == Way::Playout);
  }
  double bare(Way way, std::uint32_t streams, bool pinned);

private:
  double capture(Film& film);
  double playout(Film& film, bool upload);
  bool produce(SlotRing& ring, Film& film, CopyQueue* queue);

  Result<SoftwarePeer> peer(CopyQueue& queue) const {
    std::vector<PeerSlot> slots;
    for(std::size_t i = 0; i < slotCount; ++i)
      slots.push_back({m_buffer->handoff(i), m_buffer->slot(i).size});
    return SoftwarePeer::make({.slots = slots, .copyThrough = &queue});
  }
  api::DevicePtr address(std::uint64_t n) const { return addressBits(m_buffer->handoff(n % slotCount)); }

  std::size_t m_bytes;
  std::uint64_t m_count;
  Film m_pinned;
  Film m_pageable;
  Film m_received;
  Result<RdmaGpuBuffer> m_buffer;
};

double Contest::capture(Film& film) {
  auto queue = CopyQueue::make(*m_buffer);
  auto ring = SlotRing::make({.slotCount = slotCount});
  if(!queue || !ring)
    return 0;
  auto card = peer(*queue);
  film.rewind(m_count);
  if(!card || !card->startCapture(*ring, film))
    return 0;
  Meter meter;
  RingFrame frame;
  while(ring->take(frame, std::chrono::seconds{10}) == RingStatus::Ok) {
    meter.frame();
    ring->release(frame.slot);
  }
  return meter.count() == m_count ? meter.perSecond() : 0;
}

double Contest::playout(Film& film, bool upload) {
  auto queue = CopyQueue::make(*m_buffer);
  auto producers = CopyQueue::make(*m_buffer);
  auto ring = SlotRing::make({.slotCount = slotCount}); // which asks the queues' copies
  if(!queue || !producers || !ring)
    return 0;
  auto card = peer(*queue);
  MeteredSink sink;
  if(!card || !card->startPlayout(*ring, sink) || !produce(*ring, film, upload ? &*producers : nullptr))
    return 0;
  card->wait();
  return sink.meter.count() == m_count ? sink.meter.perSecond() : 0;
}

/// As the program does it: its own copies are waited for when there is no slot.
bool Contest::produce(SlotRing& ring, Film& film, CopyQueue* queue) {
  std::deque<Copy> begun;
  for(std::uint64_t n = 0; n < m_count; ++n) {
    std::uint32_t slot{};
    RingStatus status = ring.tryAcquire(slot);
    for(; status == RingStatus::Empty && !begun.empty(); status = ring.tryAcquire(slot)) {
      if(!begun.front().wait())
        return false;
      begun.pop_front();
      ring.notify();
    }
    if(status == RingStatus::Empty)
      status = ring.acquire(slot, std::chrono::seconds{10});
    auto copy = queue ? queue->upload(slot, film.at(n)) : Result<Copy>{Copy{}};
    if(status != RingStatus::Ok || !copy)
      return false;
    ring.publish(slot, 0, m_bytes, copy->completion());
    if(queue)
      begun.push_back(*std::move(copy));
  }
  const bool good = !queue || queue->finish();
  ring.closeProducer();
  return good;
}

/// The driver's own streams for one direction.
class BareStreams {
public:
  explicit BareStreams(std::uint32_t count) : m_streams(count) {
    for(api::Stream& stream : m_streams)
      m_good = cuda().streamCreate(&stream, api::StreamFlags::NonBlocking) == api::Status::Success && m_good;
  }
  BareStreams(const BareStreams&) = delete;
  BareStreams& operator=(const BareStreams&) = delete;
  ~BareStreams() {
    for(const api::Stream stream : m_streams)
      static_cast<void>(cuda().streamDestroy(stream));
  }
  void check(api::Status status) noexcept { m_good = m_good && status == api::Status::Success; }
  api::Stream of(std::uint64_t n) const noexcept { return m_streams[n % m_streams.size()]; }
  bool finish() {
    for(const api::Stream stream : m_streams)
      check(cuda().streamSynchronize(stream));
    return m_good;
  }

private:
  std::vector<api::Stream> m_streams;
  bool m_good = true;
};

double Contest::bare(Way way, std::uint32_t streams, bool pinned) {
  const Film& film = pinned ? m_pinned : m_pageable;
  const Film& received = pinned ? m_received : m_pageable;
  BareStreams up{streams};
  BareStreams down{streams};
  const auto start = Clock::now();
  for(std::uint64_t n = 0; n < m_count; ++n) {
    if(way != Way::PlayoutRead)
      up.check(cuda().memcpyHtoDAsync(address(n), film.at(n).data(), m_bytes, up.of(n)));
    if(way != Way::Capture) // of another slot than the one that is being filled
      down.check(
          cuda().memcpyDtoHAsync(received.at(n).data(), address(n + slotCount / 2), m_bytes, down.of(n)));
  }
  const bool good = up.finish() && down.finish();
  return good ? static_cast<double>(m_count) / std::chrono::duration<double>(Clock::now() - start).count()
              : 0;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// All ways take turns, so that what else the machine does hits them alike. In GB/s one way, medians.
void StreamAgainstBareCopies(benchmark::State& state, Way way) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Contest contest{bytes};
  if(!contest.good()) {
    state.SkipWithError("no slots on the GPU, or no memory that can be pinned for it");
    return;
  }
  std::vector<double> ours;
  std::vector<double> unpinned;
  std::array<std::vector<double>, streamCounts.size()> bare;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    for(std::size_t i = 0; i < streamCounts.size(); ++i)
      bare[i].push_back(contest.bare(way, streamCounts[i], true));
    ours.push_back(contest.ours(way, true));
    // What a peer plays out comes into memory of its own, which is pinned.
    unpinned.push_back(way == Way::PlayoutRead ? contest.bare(way, 2, false) : contest.ours(way, false));
  }
  const double scale = static_cast<double>(bytes) / 1e9;
  double best = 0;
  for(std::size_t i = 0; i < streamCounts.size(); ++i) {
    const double rate = median(bare[i]) * scale;
    best = std::max(best, rate);
    state.counters["bare" + std::to_string(streamCounts[i]) + "_gbps"] = rate;
  }
  const double reached = median(ours) * scale;
  if(reached == 0 || best == 0)
    state.SkipWithError("a copy failed, or a frame was lost");
  state.counters["ours_gbps"] = reached;
  state.counters["unpinned_gbps"] = median(unpinned) * scale;
  state.counters["ratio"] = reached / best;
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")->Arg(4'147'200)->Arg(22'118'400)->Iterations(7)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(StreamAgainstBareCopies, capture, Way::Capture)->Apply(sizes);
BENCHMARK_CAPTURE(StreamAgainstBareCopies, playout_read, Way::PlayoutRead)->Apply(sizes);
BENCHMARK_CAPTURE(StreamAgainstBareCopies, playout, Way::Playout)->Apply(sizes);

/// Whether there is anything to measure, and on what.
bool findGpu() {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 1, .frameBytes = 1});
  if(!buffer) {
    std::fprintf(stderr, "bench_cuda_stream: skipped: %s\n", buffer.error().message().c_str());
    return false;
  }
  benchmark::AddCustomContext("gpu", buffer->facts().device);
  if(buffer->facts().device.starts_with("rdmagpu software device")) {
    benchmark::AddCustomContext("note", "software device: the numbers mean nothing");
    filmBytes = 0;
  }
  return true;
}

} // namespace

int main(int argc, char** argv) { return bench::runOnCuda(argc, argv, findGpu); }
