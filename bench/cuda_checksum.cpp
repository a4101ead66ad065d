// Checking a frame in GPU memory where it lies, beside copying it into pinned host memory and computing the
// same checksum there. Without CUDA's driver and a GPU that peers can reach it says so and ends with 0.
#include <side_by_side.hpp>

#include <rdmagpu/checksum.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace {

using namespace rdmagpu;
using bench::SideBySide;

constexpr std::size_t frame2160p = 22'118'400; // v210
constexpr std::size_t frame1080p = 5'529'600;

/// One frame on the GPU, and room for it that the GPU's copy engine reaches by itself.
struct Frames {
  RdmaGpuBuffer gpu;
  RdmaGpuBuffer pinned;

  std::span<std::byte> room(std::size_t bytes) const {
    return {static_cast<std::byte*>(pinned.slot(0).gpuVA), bytes};
  }
};

Result<Frames> makeFrames() {
  Frames made;
  if(!made.gpu.create({.api = RdmaGpuApi::Cuda, .slotCount = 1, .frameBytes = frame2160p}))
    return made.gpu.error();
  const bool pinned = made.pinned.create({.api = RdmaGpuApi::HostFallback,
                                          .slotCount = 1,
                                          .frameBytes = frame2160p,
                                          .host = {.gpuPin = GpuPin::Require}});
  if(!pinned)
    return made.pinned.error();
  // The first call compiles the kernels.
  if(const auto poisoned = made.gpu.poison(0, 1); !poisoned)
    return poisoned.error();
  return made;
}

const Frames* frames{}; ///< main()'s.

std::uint64_t checkInPlace(benchmark::State& state, std::size_t bytes) {
  const auto sum = frames->gpu.checksum(0, bytes);
  if(!sum)
    state.SkipWithError(sum.error().message().c_str());
  return sum ? *sum : 0;
}

void copy(benchmark::State& state, std::size_t bytes) {
  if(const auto copied = frames->gpu.download(0, frames->room(bytes)); !copied)
    state.SkipWithError(copied.error().message().c_str());
}

void InPlaceAgainstCopyAndChecksum(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  SideBySide times;
  std::uint64_t ours{};
  std::uint64_t theirs{};
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    times.round([&] { ours = checkInPlace(state, bytes); },
                [&] {
                  copy(state, bytes);
                  theirs = checksum(frames->room(bytes));
                });
  }
  if(ours != theirs)
    state.SkipWithError("the checksums differ");
  times.report(state);
}
BENCHMARK(InPlaceAgainstCopyAndChecksum)
    ->ArgName("bytes")
    ->Arg(frame1080p)
    ->Arg(frame2160p)
    ->Iterations(100)
    ->Unit(benchmark::kMicrosecond);

/// The copy alone: what remains if the CPU's checksum cost nothing.
void InPlaceAgainstCopy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  SideBySide times;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    times.round([&] { benchmark::DoNotOptimize(checkInPlace(state, bytes)); }, [&] { copy(state, bytes); });
  }
  times.report(state);
}
BENCHMARK(InPlaceAgainstCopy)
    ->ArgName("bytes")
    ->Arg(frame1080p)
    ->Arg(frame2160p)
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);

/// Filling with poison beside filling with zeros, which is the driver's own.
void PoisonAgainstClear(benchmark::State& state) {
  SideBySide times;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    times.round([] { static_cast<void>(frames->gpu.poison(0, 1)); },
                [] { static_cast<void>(frames->gpu.clear(0)); });
  }
  times.report(state);
}
BENCHMARK(PoisonAgainstClear)->Iterations(200)->Unit(benchmark::kMicrosecond);

/// What the first check costs: the driver compiles the kernels, or finds them in its cache.
std::string firstCheck() {
  RdmaGpuBuffer buffer;
  if(!buffer.create({.api = RdmaGpuApi::Cuda, .slotCount = 1, .frameBytes = 1}) || !buffer.clear(0))
    return "";
  const auto start = std::chrono::steady_clock::now();
  static_cast<void>(buffer.checksum(0, 1));
  return std::to_string(
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
}

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if(benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  const std::string first = firstCheck();
  const auto made = makeFrames();
  if(!made) {
    std::fprintf(stderr, "bench_cuda_checksum: skipped: %s\n", made.error().message().c_str());
    return 0;
  }
  frames = &*made;
  benchmark::AddCustomContext("gpu", frames->gpu.facts().device);
  benchmark::AddCustomContext("first_checksum_us", first);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
