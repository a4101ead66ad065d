// What proving a frame in a GPU's slot costs the thread that calls, beside starting one empty kernel and
// waiting for it.
#include <cuda_main.hpp>
#include <side_by_side.hpp>

#include <rdmagpu/frame_proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

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
  void start() {
    std::uint64_t nothing = 0;
    void* parameters[] = {&nothing, &nothing, &nothing};
    cuda().launchKernel(m_kernel, m_blocks, 1, 1, 256, 1, 1, 0, m_stream, parameters, nullptr);
  }
  void wait() { cuda().streamSynchronize(m_stream); }
  void operator()() {
    start();
    wait();
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

double cpuSecondsOfThisThread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A frame's way through slots that change as in a ring: run() is what counts, rest() what others do. Nobody
/// writes frames: a look takes as long whatever it finds.
class Frames {
public:
  explicit Frames(std::size_t frameBytes)
      : bytes(frameBytes), m_slots(makeSlots(frameBytes)), bare(frameBytes / 4096) {
    auto made = FrameProof::make(m_slots);
    if(made)
      proof.emplace(*std::move(made));
    else
      m_why = made.error().message();
    if(!bare.ready())
      m_why = "the empty kernel cannot be loaded";
  }
  const std::string& why() const { return m_why; } ///< Empty: it can be used.
  void rest() { slot = after(1); }

protected:
  std::uint32_t after(std::uint32_t n) const { return (slot + n) % proof->slotCount(); }

  const std::size_t bytes;
  std::uint32_t slot{};

private:
  RdmaGpuBuffer m_slots;
  std::string m_why;

public:
  BareLaunch bare;
  std::optional<FrameProof> proof;
};

/// Each by itself, waited for.
struct ArmAndCheck : Frames {
  using Frames::Frames;
  void run() {
    proof->arm(slot);
    benchmark::DoNotOptimize(proof->check(slot, bytes));
  }
};

/// The kernel reads as much as that of check(), and writes, too.
struct Arm : Frames {
  using Frames::Frames;
  void run() { benchmark::DoNotOptimize(proof->arm(slot)); }
};

/// One launch for the frame and the slot after the next, waited for: as where a direct path may fail over.
struct ArmAheadAndCheck : Frames {
  using Frames::Frames;
  void run() {
    proof->arm(slot);
    proof->startCheck(slot, bytes, after(2));
    benchmark::DoNotOptimize(proof->check(slot, bytes));
  }
};

/// A frame through a ring. None has a fault that counts: all are handed over.
struct InRing : Frames {
  explicit InRing(std::size_t frameBytes) : Frames(frameBytes) {
    if(why().empty())
      m_ring.emplace(*SlotRing::make({.slotCount = proof->slotCount(), .proof = &*proof}));
  }
  void produce() {
    m_ring->tryAcquire(slot);
    m_ring->publish(slot, 0, bytes);
  }
  void consume() {
    RingFrame frame;
    m_ring->tryTake(frame);
    m_ring->release(frame.slot);
  }

private:
  std::optional<SlotRing> m_ring;
};

/// What the thread of a capture pays.
struct InRingOfProducer : InRing {
  using InRing::InRing;
  void run() { produce(); }
  void rest() { consume(); }
};

/// Both sides on one thread, with nothing in between: from the look's start to its answer.
struct InRingOfBoth : InRing {
  using InRing::InRing;
  void run() {
    produce();
    consume();
  }
  void rest() {}
};

/// The least that a proof can cost: an empty kernel that nobody waits for.
struct LaunchAlone : Frames {
  using Frames::Frames;
  void run() { bare.start(); }
  void rest() { bare.wait(); }
};

/// Beside the time of one call, the CPU time of its thread: the mean of further rounds.
template <class Way>
void againstOneLaunch(benchmark::State& state) {
  Way frames(static_cast<std::size_t>(state.range(0)));
  if(!frames.why().empty()) {
    state.SkipWithError(frames.why().c_str());
    return;
  }
  SideBySide times;
  double ours{};
  double theirs{};
  for(auto _ : state) { // NOLINT(clang-analyzer-deadcode.DeadStores): the loop is what counts
    times.round([&] { frames.run(); }, [&] { frames.bare(); });
    frames.rest();
    frames.bare();
    const double start = cpuSecondsOfThisThread();
    frames.run();
    const double middle = cpuSecondsOfThisThread();
    frames.rest();
    const double again = cpuSecondsOfThisThread();
    frames.bare();
    theirs += cpuSecondsOfThisThread() - again;
    ours += middle - start;
  }
  times.report(state);
  state.counters["ours_cpu_us"] = ours * 1e6 / static_cast<double>(state.iterations());
  state.counters["theirs_cpu_us"] = theirs * 1e6 / static_cast<double>(state.iterations());
  if(frames.proof->counters().unchecked != 0)
    state.SkipWithError("the driver failed");
}

void frames(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")
      ->Arg(frame1080p)
      ->Arg(frame2160p)
      ->Iterations(2000)
      ->Unit(benchmark::kMicrosecond);
}

BENCHMARK(againstOneLaunch<InRingOfProducer>)->Name("InRingOfProducerAgainstOneLaunch")->Apply(frames);
BENCHMARK(againstOneLaunch<InRingOfBoth>)->Name("InRingOfBothAgainstOneLaunch")->Apply(frames);
BENCHMARK(againstOneLaunch<ArmAheadAndCheck>)->Name("ArmAheadAndCheckAgainstOneLaunch")->Apply(frames);
BENCHMARK(againstOneLaunch<ArmAndCheck>)->Name("ArmAndCheckAgainstOneLaunch")->Apply(frames);
BENCHMARK(againstOneLaunch<Arm>)->Name("ArmAgainstOneLaunch")->Apply(frames);
BENCHMARK(againstOneLaunch<LaunchAlone>)->Name("LaunchAloneAgainstOneLaunch")->Apply(frames);

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
