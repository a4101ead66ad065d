// What it costs to prove a frame in memory that the CPU addresses: arm() and check(), after a peer has
// written the frame. Budget: one pass over the sampled cache lines each way.
#include <side_by_side.hpp>

#include <rdmagpu/checksum.hpp>
#include <rdmagpu/frame_proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace rdmagpu;
using bench::SideBySide;

constexpr std::uint32_t slotCount = 8;
constexpr std::size_t pageBytes = 4096;

/// Slots that are filled in turn, as by a card.
class Slots {
public:
  Slots(benchmark::State& state, std::size_t bytes) : m_frame(bytes, std::byte{0x5a}) {
    auto buffer =
        RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = slotCount, .frameBytes = bytes});
    if(!buffer) {
      state.SkipWithError(buffer.error().message().c_str());
      return;
    }
    m_buffer = *std::move(buffer);
    auto proof = FrameProof::make(m_buffer);
    if(!proof) {
      state.SkipWithError(proof.error().message().c_str());
      return;
    }
    m_proof.emplace(*std::move(proof));
  }

  bool ready() const noexcept { return m_proof.has_value(); }
  void next() noexcept { m_slot = (m_slot + 1) % slotCount; }
  std::span<std::byte> slot() const {
    return {static_cast<std::byte*>(cpuAddress(m_buffer.handoff(m_slot))), m_frame.size()};
  }
  void write() { std::memcpy(slot().data(), m_frame.data(), m_frame.size()); }
  void arm() { m_proof->arm(m_slot); }
  bool check() { return m_proof->check(m_slot, m_frame.size()).fault == FrameFault::None; }

private:
  std::vector<std::byte> m_frame;
  RdmaGpuBuffer m_buffer;
  std::optional<FrameProof> m_proof;
  std::uint32_t m_slot{};
};

/// Runs `ours` and `theirs` by turns, each on the next slot, into which a frame was written in between.
template <class Ours, class Theirs>
void compare(benchmark::State& state, Ours ours, Theirs theirs) {
  Slots slots(state, static_cast<std::size_t>(state.range(0)));
  if(!slots.ready())
    return;
  SideBySide pair;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    slots.next();
    slots.arm();
    slots.write();
    pair.round([&] { ours(slots); }, [&] { theirs(slots); });
    if(!slots.check())
      state.SkipWithError("a healthy frame was called faulty");
  }
  pair.report(state);
}

/// One word of each page, at the same place in each.
void sweep(Slots& slots) {
  const std::span<std::byte> slot = slots.slot();
  std::uint64_t sum = 0;
  for(std::size_t page = 0; page + sizeof sum <= slot.size(); page += pageBytes) {
    std::uint64_t word{};
    std::memcpy(&word, slot.data() + page, sizeof word);
    sum += word;
  }
  benchmark::DoNotOptimize(sum);
}

void CheckAgainstBareLook(benchmark::State& state) {
  compare(
      state, [](Slots& slots) { benchmark::DoNotOptimize(slots.check()); }, sweep);
}
BENCHMARK(CheckAgainstBareLook)->Arg(4'147'200)->Arg(22'118'400)->Unit(benchmark::kMicrosecond);

void CheckAgainstChecksum(benchmark::State& state) {
  compare(
      state, [](Slots& slots) { benchmark::DoNotOptimize(slots.check()); },
      [](Slots& slots) { benchmark::DoNotOptimize(checksum(slots.slot())); });
}
BENCHMARK(CheckAgainstChecksum)->Arg(4'147'200)->Arg(22'118'400)->Unit(benchmark::kMicrosecond);

/// All that a frame costs with a proof and without.
void ProvenFrameAgainstUnproven(benchmark::State& state) {
  Slots slots(state, static_cast<std::size_t>(state.range(0)));
  if(!slots.ready())
    return;
  SideBySide pair;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    pair.round(
        [&] {
          slots.next();
          slots.arm();
          slots.write();
          if(!slots.check())
            state.SkipWithError("a healthy frame was called faulty");
        },
        [&] {
          slots.next();
          slots.write();
        });
  }
  pair.report(state);
}
BENCHMARK(ProvenFrameAgainstUnproven)->Arg(4'147'200)->Arg(22'118'400)->Unit(benchmark::kMicrosecond);

} // namespace

BENCHMARK_MAIN();
