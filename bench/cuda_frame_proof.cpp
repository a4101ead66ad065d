// Proving a frame in a GPU's slot, arm() and check(), beside starting one empty kernel and waiting for it,
// which each of the two cannot be without.
#include <cuda_main.hpp>
#include <side_by_side.hpp>

#include <rdmagpu/frame_proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

using namespace rdmagpu;
using bench::cuda;
using bench::SideBySide;
namespace api = driver::cuda;

constexpr std::size_t frame1080p = 4'147'200;  // uyvy422
constexpr std::size_t frame2160p = 22'118'400; // v210

// By this name the testkit's software device knows a kernel that does nothing when it is given nothing.
constexpr const char* emptyKernel = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry rdmagpu_poison(.param .u64 to, .param .u64 bytes, .param .u64 key)
.reqntid 256, 1, 1
{
  ret;
}
)";

/// An empty kernel of as many threads as there are places in a frame, in the current context.
class BareLaunch {
public:
  explicit BareLaunch(std::size_t places) : m_blocks(static_cast<unsigned>((places + 255) / 256)) {
    m_ready = cuda().moduleLoadData(&m_module, emptyKernel) == api::Status::Success &&
              cuda().moduleGetFunction(&m_kernel, m_module, "rdmagpu_poison") == api::Status::Success &&
              cuda().streamCreate(&m_stream, api::StreamFlags::NonBlocking) == api::Status::Success;
  }
  BareLaunch(BareLaunch&&) = delete;
  ~BareLaunch() {
    cuda().streamDestroy(m_stream);
    cuda().moduleUnload(m_module);
  }

  bool ready() const { return m_ready; }
  void operator()() {
    std::uint64_t nothing = 0;
    void* parameters[] = {&nothing, &nothing, &nothing};
    cuda().launchKernel(m_kernel, m_blocks, 1, 1, 256, 1, 1, 0, m_stream, parameters, nullptr);
    cuda().streamSynchronize(m_stream);
  }

private:
  unsigned m_blocks;
  api::Module m_module{};
  api::Function m_kernel{};
  api::Stream m_stream{};
  bool m_ready{};
};

RdmaGpuBuffer makeSlots(std::size_t frameBytes) {
  auto made = RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 4, .frameBytes = frameBytes});
  return made ? *std::move(made) : RdmaGpuBuffer{};
}

/// `prove` is given the proof and a slot's number. Slots change as in a ring. Nobody writes frames: a look
/// takes as long whatever it finds.
template <class Prove>
void besideBareLaunch(benchmark::State& state, Prove prove) {
  const auto frameBytes = static_cast<std::size_t>(state.range(0));
  const RdmaGpuBuffer slots = makeSlots(frameBytes);
  auto proof = FrameProof::make(slots);
  BareLaunch bare(frameBytes / 4096);
  if(!proof || !bare.ready()) {
    state.SkipWithError(proof ? "the empty kernel cannot be loaded" : proof.error().message().c_str());
    return;
  }
  SideBySide times;
  std::uint32_t slot{};
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    times.round([&] { prove(*proof, slot, frameBytes); }, [&] { bare(); });
    slot = (slot + 1) % proof->slotCount();
  }
  times.report(state);
  if(proof->counters().unchecked != 0)
    state.SkipWithError("the driver failed");
}

void frames(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")
      ->Arg(frame1080p)
      ->Arg(frame2160p)
      ->Iterations(2000)
      ->Unit(benchmark::kMicrosecond);
}

void ArmAndCheckAgainstOneLaunch(benchmark::State& state) {
  besideBareLaunch(state, [](FrameProof& proof, std::uint32_t slot, std::size_t bytes) {
    proof.arm(slot);
    benchmark::DoNotOptimize(proof.check(slot, bytes));
  });
}
BENCHMARK(ArmAndCheckAgainstOneLaunch)->Apply(frames);

/// Of either the kernel reads the same places; this one writes them too.
void ArmAgainstOneLaunch(benchmark::State& state) {
  besideBareLaunch(state, [](FrameProof& proof, std::uint32_t slot, std::size_t) {
    benchmark::DoNotOptimize(proof.arm(slot));
  });
}
BENCHMARK(ArmAgainstOneLaunch)->Apply(frames);

bool begin() {
  const RdmaGpuBuffer slots = makeSlots(frame1080p);
  const auto proof = FrameProof::make(slots);
  if(!proof) {
    const auto why = RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 1, .frameBytes = frame1080p});
    std::fprintf(stderr, "bench_cuda_frame_proof: skipped: %s\n",
                 (why ? proof.error() : why.error()).message().c_str());
    return false;
  }
  benchmark::AddCustomContext("gpu", slots.facts().device);
  return true;
}

} // namespace

int main(int argc, char** argv) { return bench::runOnCuda(argc, argv, begin); }
