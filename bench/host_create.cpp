// Creating slots of host memory. Budget: create, touched and locked, at most
// 1.3 times a memset of the same bytes; cost does not grow with the number of slots.
#include <side_by_side.hpp>

#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <sys/mman.h>

namespace {

using namespace rdmagpu;
using bench::SideBySide;

RdmaGpuBufferConfig config(std::uint32_t slots, std::size_t bytes) {
  return {.api = RdmaGpuApi::HostFallback, .slotCount = slots, .frameBytes = bytes};
}

void createAndDestroy(benchmark::State& state, const RdmaGpuBufferConfig& wanted) {
  auto buffer = RdmaGpuBuffer::make(wanted);
  if(!buffer)
    state.SkipWithError(buffer.error().message().c_str());
}

/// What a program would write that has never heard of slots: fresh pages, touched by memset.
void mapAndSet(benchmark::State& state, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if(memory == MAP_FAILED) {
    state.SkipWithError("mmap");
    return;
  }
  std::memset(memory, 0, bytes);
  benchmark::DoNotOptimize(memory);
  munmap(memory, bytes);
}

/// The bare system calls for the same bytes, on one thread.
void mapPopulateLock(benchmark::State& state, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if(memory == MAP_FAILED || madvise(memory, bytes, MADV_POPULATE_WRITE) != 0) {
    state.SkipWithError("mmap or madvise");
    return;
  }
  benchmark::DoNotOptimize(mlock(memory, bytes));
  munmap(memory, bytes);
}

void CreateAgainstMemsetOfFreshPages(benchmark::State& state) {
  const auto wanted =
      config(static_cast<std::uint32_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  SideBySide pair;
  for(auto _ : state) // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    pair.round([&] { createAndDestroy(state, wanted); },
               [&] { mapAndSet(state, wanted.slotCount * wanted.frameBytes); });
  pair.report(state);
}
BENCHMARK(CreateAgainstMemsetOfFreshPages)
    ->Args({64, 4 << 20})
    ->Args({8, 32 << 20})
    ->Unit(benchmark::kMillisecond);

void CreateAgainstBareCalls(benchmark::State& state) {
  const auto wanted =
      config(static_cast<std::uint32_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  SideBySide pair;
  for(auto _ : state) // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    pair.round([&] { createAndDestroy(state, wanted); },
               [&] { mapPopulateLock(state, wanted.slotCount * wanted.frameBytes); });
  pair.report(state);
}
BENCHMARK(CreateAgainstBareCalls)
    ->Args({1, 64 << 10})
    ->Args({64, 64 << 10})
    ->Args({4096, 64 << 10})
    ->Args({65536, 64 << 10})
    ->Unit(benchmark::kMillisecond);

/// The same bytes in few and in many slots: only the count differs.
void ManySlotsAgainstOne(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  SideBySide pair;
  for(auto _ : state) // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    pair.round([&] { createAndDestroy(state, config(count, 64 << 10)); },
               [&] { createAndDestroy(state, config(1, std::size_t{count} << 16U)); });
  pair.report(state);
}
BENCHMARK(ManySlotsAgainstOne)->Arg(64)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
