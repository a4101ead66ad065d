// Creating slots of GPU memory, beside the driver's own calls for the same bytes. Without CUDA's driver
// and a GPU that peers can reach it says so and ends with 0.
#include <cuda_main.hpp>
#include <fresh_process.hpp>
#include <side_by_side.hpp>

#include <rdmagpu/backends.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace rdmagpu;
using bench::cuda;
using bench::inFreshProcess;
using bench::SideBySide;
using bench::usedOfBar1;
namespace api = driver::cuda;

bool good(benchmark::State& state, api::Status status, const char* call) {
  if(status == api::Status::Success)
    return true;
  state.SkipWithError(call);
  return false;
}

RdmaGpuBufferConfig config(const benchmark::State& state) {
  return {.api = RdmaGpuApi::Cuda,
          .slotCount = static_cast<std::uint32_t>(state.range(0)),
          .frameBytes = static_cast<std::size_t>(state.range(1)),
          .ignoreBudget = state.range(2) == 0};
}

RdmaGpuBuffer create(benchmark::State& state, const RdmaGpuBufferConfig& wanted) {
  auto buffer = RdmaGpuBuffer::make(wanted);
  if(!buffer) {
    state.SkipWithError(buffer.error().message().c_str());
    return {};
  }
  return *std::move(buffer);
}

/// One block for everything, in the primary context that main() has made current.
class PlainBlock {
public:
  PlainBlock(benchmark::State& state, std::size_t bytes) : m_state(state) {
    if(!good(state, cuda().memAlloc(&m_address, bytes), "cuMemAlloc_v2"))
      m_address = 0;
  }
  PlainBlock(PlainBlock&& other) noexcept
      : m_state(other.m_state), m_address(std::exchange(other.m_address, 0)) {}
  PlainBlock& operator=(PlainBlock&&) = delete;
  ~PlainBlock() {
    if(m_address != 0)
      good(m_state, cuda().memFree(m_address), "cuMemFree_v2");
  }

private:
  benchmark::State& m_state;
  api::DevicePtr m_address{};
};

/// What is usual: an allocation of the virtual memory management for each slot.
class VmmSlot {
public:
  VmmSlot(benchmark::State& state, std::size_t bytes) : m_state(state) {
    const api::AllocationProp prop{.requestedHandleTypes = api::HandleType::PosixFileDescriptor,
                                   .allocFlags = {.gpuDirectRdmaCapable = 1}};
    std::size_t grain{};
    good(state, cuda().memGetAllocationGranularity(&grain, &prop, api::Granularity::Minimum), "granularity");
    m_bytes = (bytes + grain - 1) / grain * grain;
    const api::AccessDesc access{};
    m_made = good(state, cuda().memCreate(&m_handle, m_bytes, &prop, 0), "cuMemCreate") &&
             good(state, cuda().memAddressReserve(&m_address, m_bytes, grain, 0, 0), "cuMemAddressReserve") &&
             good(state, cuda().memMap(m_address, m_bytes, 0, m_handle, 0), "cuMemMap") &&
             good(state, cuda().memSetAccess(m_address, m_bytes, &access, 1), "cuMemSetAccess");
  }
  VmmSlot(VmmSlot&& other) noexcept
      : m_state(other.m_state),
        m_bytes(other.m_bytes),
        m_handle(other.m_handle),
        m_address(other.m_address),
        m_made(other.m_made) {
    other.m_made = false;
  }
  VmmSlot& operator=(VmmSlot&&) = delete;
  ~VmmSlot() {
    if(!m_made)
      return;
    good(m_state, cuda().memUnmap(m_address, m_bytes), "cuMemUnmap");
    good(m_state, cuda().memAddressFree(m_address, m_bytes), "cuMemAddressFree");
    good(m_state, cuda().memRelease(m_handle), "cuMemRelease");
  }

private:
  benchmark::State& m_state;
  std::size_t m_bytes{};
  api::MemHandle m_handle{};
  api::DevicePtr m_address{};
  bool m_made{};
};

std::vector<VmmSlot> vmmPerSlot(benchmark::State& state, const RdmaGpuBufferConfig& wanted) {
  std::vector<VmmSlot> slots;
  slots.reserve(wanted.slotCount);
  for(std::uint32_t i = 0; i < wanted.slotCount; ++i)
    slots.emplace_back(state, wanted.frameBytes);
  return slots;
}

std::vector<PlainBlock> plainPerSlot(benchmark::State& state, const RdmaGpuBufferConfig& wanted) {
  std::vector<PlainBlock> slots;
  slots.reserve(wanted.slotCount);
  for(std::uint32_t i = 0; i < wanted.slotCount; ++i)
    slots.emplace_back(state, wanted.frameBytes);
  return slots;
}

/// Whoever allocates first after gigabytes were freed waits for the driver, for up to 15 ms on an H200. With
/// less the pause would only let the GPU idle, which slows both sides.
void settle(const RdmaGpuBufferConfig& wanted) {
  constexpr std::size_t gibibytes = std::size_t{2} << 30;
  if(wanted.slotCount * wanted.frameBytes >= gibibytes)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

/// Creating is what has a budget; giving back is told beside it, as "free_us" and "their_free_us".
template <class Ours, class Theirs>
void compare(benchmark::State& state, const RdmaGpuBufferConfig& wanted, Ours ours, Theirs theirs) {
  SideBySide creating;
  SideBySide freeing;
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    std::optional<decltype(ours())> mine;
    std::optional<decltype(theirs())> other;
    settle(wanted);
    creating.round([&] { mine.emplace(ours()); }, [&] { other.emplace(theirs()); });
    freeing.round([&] { mine.reset(); }, [&] { other.reset(); });
  }
  freeing.report(state);
  state.counters["free_us"] = state.counters["ours_us"];
  state.counters["their_free_us"] = state.counters["theirs_us"];
  creating.report(state);
}

void CreateAgainstOneCuMemAlloc(benchmark::State& state) {
  const auto wanted = config(state);
  compare(
      state, wanted, [&] { return create(state, wanted); },
      [&] {
        return PlainBlock{state, wanted.slotCount * wanted.frameBytes};
      });
}
BENCHMARK(CreateAgainstOneCuMemAlloc)
    ->ArgNames({"slots", "bytes", "budget"})
    ->Args({64, 4'147'200, 1})
    ->Args({256, 4'147'200, 1})
    ->Args({256, 4'147'200, 0})
    ->Iterations(100)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(CreateAgainstOneCuMemAlloc)
    ->ArgNames({"slots", "bytes", "budget"})
    ->Args({512, 4'147'200, 1})
    ->Args({64, 33'177'600, 1})
    ->Args({65536, 65536, 1})
    ->Iterations(40)
    ->Unit(benchmark::kMicrosecond);

/// What of it is the driver's: the same calls by hand.
void CreateAgainstOneBareVmmRegion(benchmark::State& state) {
  const auto wanted = config(state);
  compare(
      state, wanted, [&] { return create(state, wanted); },
      [&] {
        return VmmSlot{state, wanted.slotCount * wanted.frameBytes};
      });
}
BENCHMARK(CreateAgainstOneBareVmmRegion)
    ->ArgNames({"slots", "bytes", "budget"})
    ->Args({64, 4'147'200, 1})
    ->Args({256, 4'147'200, 1})
    ->Args({65536, 65536, 1})
    ->Iterations(100)
    ->Unit(benchmark::kMicrosecond);

void CreateAgainstVmmPerSlot(benchmark::State& state) {
  const auto wanted = config(state);
  compare(
      state, wanted, [&] { return create(state, wanted); }, [&] { return vmmPerSlot(state, wanted); });
}
BENCHMARK(CreateAgainstVmmPerSlot)
    ->ArgNames({"slots", "bytes", "budget"})
    ->Args({64, 4'147'200, 1})
    ->Args({256, 4'147'200, 1})
    ->Iterations(20)
    ->Unit(benchmark::kMicrosecond);

void CreateAgainstCuMemAllocPerSlot(benchmark::State& state) {
  const auto wanted = config(state);
  compare(
      state, wanted, [&] { return create(state, wanted); }, [&] { return plainPerSlot(state, wanted); });
}
BENCHMARK(CreateAgainstCuMemAllocPerSlot)
    ->ArgNames({"slots", "bytes", "budget"})
    ->Args({64, 4'147'200, 1})
    ->Args({256, 4'147'200, 1})
    ->Iterations(20)
    ->Unit(benchmark::kMicrosecond);

template <class Work>
double microseconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

/// Of a process that has no context and no memory yet, where the driver is slow.
struct First {
  double init{};
  double region{};
};

constexpr RdmaGpuBufferConfig firstConfig{.api = RdmaGpuApi::Cuda, .slotCount = 64, .frameBytes = 4'147'200};

First firstBuffer() {
  First first{.init = microseconds([] { static_cast<void>(cuda().init(0)); })};
  Result<RdmaGpuBuffer> buffer = Error{};
  first.region = microseconds([&] { buffer = RdmaGpuBuffer::make(firstConfig); });
  return first;
}

/// The driver's own part of it.
First firstBareRegion() {
  First first{.init = microseconds([] { static_cast<void>(cuda().init(0)); })};
  const api::AllocationProp prop{.requestedHandleTypes = api::HandleType::PosixFileDescriptor,
                                 .allocFlags = {.gpuDirectRdmaCapable = 1}};
  const api::AccessDesc access{};
  std::size_t grain{1};
  api::MemHandle handle{};
  api::DevicePtr address{};
  first.region = microseconds([&] {
    cuda().memGetAllocationGranularity(&grain, &prop, api::Granularity::Minimum);
    const std::size_t bytes = (firstConfig.slotCount * firstConfig.frameBytes + grain - 1) / grain * grain;
    cuda().memCreate(&handle, bytes, &prop, 0);
    cuda().memAddressReserve(&address, bytes, grain, 0, 0);
    cuda().memMap(address, bytes, 0, handle, 0);
    cuda().memSetAccess(address, bytes, &access, 1);
  });
  return first;
}

std::string median(std::vector<double> values) {
  std::ranges::sort(values);
  return std::to_string(values.at(values.size() / 2));
}

/// What the first buffer of a process costs beyond cuInit, and the driver's calls alone, in processes by
/// turns.
bool measureFirst() {
  constexpr int processes = 11;
  std::vector<double> inits;
  std::vector<double> ours;
  std::vector<double> bare;
  for(int i = 0; i < processes; ++i) {
    const auto buffer = inFreshProcess(firstBuffer);
    const auto region = inFreshProcess(firstBareRegion);
    if(!buffer || !region) {
      std::fprintf(stderr, "bench_cuda_create: no process to measure the first buffer in\n");
      return false;
    }
    inits.push_back(buffer->init);
    ours.push_back(buffer->region);
    bare.push_back(region->region);
  }
  benchmark::AddCustomContext("cu_init_us", median(inits));
  benchmark::AddCustomContext("first_buffer_after_cu_init_us", median(ours));
  benchmark::AddCustomContext("first_bare_region_after_cu_init_us", median(bare));
  return true;
}

/// What the slots take of BAR1, which the driver charges when it maps them, or when a peer does.
void tellBar1(const std::string& busId, const BufferFacts& facts) {
  const auto before = usedOfBar1(busId);
  const auto buffer = RdmaGpuBuffer::make(firstConfig);
  const auto after = usedOfBar1(busId);
  if(!buffer || !before || !after) {
    std::fprintf(stderr, "bench_cuda_create: skipped: nobody tells what is in use of BAR1\n");
    return;
  }
  benchmark::AddCustomContext("bar1_bytes", std::to_string(facts.bar1Bytes));
  benchmark::AddCustomContext("bar1_charged_bytes", std::to_string(*after - std::min(*after, *before)));
}

/// Whether there is a GPU to measure on.
bool begin() {
  const auto could = inFreshProcess([] {
    const auto buffer = RdmaGpuBuffer::make(firstConfig);
    if(!buffer)
      std::fprintf(stderr, "bench_cuda_create: skipped: %s\n", buffer.error().message().c_str());
    return static_cast<bool>(buffer);
  });
  if(!could.value_or(false) || !measureFirst())
    return false;
  BufferFacts facts;
  if(const auto buffer = RdmaGpuBuffer::make(firstConfig))
    facts = buffer->facts();
  if(facts.pci)
    tellBar1(facts.pci->text(), facts);
  benchmark::AddCustomContext("gpu", facts.device);
  benchmark::AddCustomContext("requested_bytes", std::to_string(facts.requestedBytes));
  benchmark::AddCustomContext("committed_bytes", std::to_string(facts.committedBytes));
  return true;
}

} // namespace

int main(int argc, char** argv) { return bench::runOnCuda(argc, argv, begin); }
