// Frames through the ring against the same frames through memcpy. Budget: at least 0.9 of the throughput of a
// memcpy loop over the same frames, one frame in 30 read back and checked, as `rdmagpu stream --check
// sample:30` does.
#include <iterations.hpp>
#include <side_by_side.hpp>

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace rdmagpu;
using bench::SideBySide;
using Frame = std::vector<std::byte>;

constexpr std::uint32_t slotCount = 8;
constexpr std::uint64_t checkEvery = 30;

/// Half a gigabyte of film: more than any cache holds, as preloaded frames are.
std::vector<Frame> preload(std::size_t bytes) {
  constexpr std::size_t film = std::size_t{512} << 20U;
  std::vector<Frame> frames(film / bytes, Frame(bytes));
  for(std::size_t i = 0; i < frames.size(); ++i)
    std::memset(frames[i].data(), static_cast<int>(i + 1), bytes);
  return frames;
}

class Preloaded final : public FrameSource {
public:
  Preloaded(const std::vector<Frame>& frames, std::uint64_t count) : m_frames(frames), m_left(count) {}
  std::span<const std::byte> next() override {
    if(m_left == 0)
      return {};
    --m_left;
    return m_frames[m_at++ % m_frames.size()];
  }

private:
  const std::vector<Frame>& m_frames;
  std::uint64_t m_left;
  std::size_t m_at{};
};

/// Capture: the peer writes each frame into a slot, this thread takes it and reads back those that it checks.
std::uint64_t stream(const RdmaGpuBuffer& buffer, const std::vector<Frame>& frames, std::uint64_t count,
                     Frame& out) {
  std::vector<PeerSlot> slots;
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.push_back({buffer.handoff(i), buffer.slot(i).size});
  auto ring = SlotRing::make({.slotCount = slotCount});
  auto peer = SoftwarePeer::make({.slots = slots});
  Preloaded source{frames, count};
  std::uint64_t wrong = 0;
  if(!ring || !peer || !peer->startCapture(*ring, source))
    return count;
  RingFrame frame;
  while(ring->take(frame, std::chrono::seconds{10}) == RingStatus::Ok) {
    if(frame.sequence % checkEvery == 0) {
      wrong += !buffer.download(frame.slot, std::span{out}.first(frame.bytes));
      wrong += out != frames[frame.sequence % frames.size()];
    }
    wrong += ring->release(frame.slot) != RingStatus::Ok;
  }
  return wrong + (ring->counters().taken != count);
}

void copyLoop(const std::vector<Frame>& frames, std::uint64_t count, std::vector<Frame>& targets) {
  for(std::uint64_t i = 0; i < count; ++i) {
    Frame& out = targets[i % targets.size()];
    std::memcpy(out.data(), frames[i % frames.size()].data(), out.size());
    benchmark::ClobberMemory();
  }
}

void StreamAgainstMemcpy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto frames = preload(bytes);
  const std::uint64_t count = (std::uint64_t{2} << 30U) / bytes;
  const auto buffer =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = slotCount, .frameBytes = bytes});
  if(!buffer) {
    state.SkipWithError(buffer.error().message().c_str());
    return;
  }
  Frame out(bytes);
  // The memory of one frame may stay in a cache; as many frames as there are slots are the like for like.
  std::vector<Frame> copied(static_cast<std::size_t>(state.range(1)), Frame(bytes));
  SideBySide pair;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    pair.round(
        [&] {
          if(stream(*buffer, frames, count, out) != 0)
            state.SkipWithError("a frame was lost or wrong");
        },
        [&] { copyLoop(frames, count, copied); });
  }
  pair.report(state);
}
BENCHMARK(StreamAgainstMemcpy)
    ->ArgNames({"bytes", "targets"})
    ->ArgsProduct({{4'147'200, 22'118'400}, {1, slotCount}})
    ->Iterations(rdmagpu::bench::iterations(7))
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
