// Frames in a GPU's slots, proven where they lie.
#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>
#include <contract/frame_proof_contract.hpp>
#include <contract/proven_ring_contract.hpp>
#include <rdmagpu/copy_queue.hpp>

#include <algorithm>
#include <string_view>
#include <thread>

namespace rdmagpu::prooftest {
namespace {

using namespace test;

constexpr std::array kinds{CudaMemory::Vmm, CudaMemory::MemAlloc};

std::string nameOfKind(const testing::TestParamInfo<RdmaGpuBufferConfig>& info) {
  return info.param.cudaMemory == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
}

/// A peer that reaches the GPU's slots, or host memory only.
StagedBufferConfig stagedConfig(SlotPath path) {
  StagedBufferConfig config = stagedtest::hostConfig(path);
  config.buffer.api = RdmaGpuApi::Cuda;
  if(path == SlotPath::Staged)
    config.buffer.accepts = {HandoffKind::HostPointer};
  return config;
}

INSTANTIATE_TEST_SUITE_P(Cuda, FrameProofContract,
                         testing::Values(cudaConfig(CudaMemory::Vmm), cudaConfig(CudaMemory::MemAlloc)),
                         nameOfKind);
INSTANTIATE_TEST_SUITE_P(Cuda, ProvenRing,
                         testing::Values(stagedConfig(SlotPath::Direct), stagedConfig(SlotPath::Staged)),
                         nameOfPath);

class CudaFrameProof : public testing::TestWithParam<RdmaGpuBufferConfig> {};
INSTANTIATE_TEST_SUITE_P(, CudaFrameProof,
                         testing::Values(cudaConfig(CudaMemory::Vmm), cudaConfig(CudaMemory::MemAlloc)),
                         nameOfKind);

/// Every byte of the slots, after the same calls with the same seed.
std::vector<Bytes> laidIn(const RdmaGpuBuffer& slots) {
  for(std::uint32_t i = 0; i < slots.slotCount(); ++i)
    EXPECT_TRUE(slots.poison(i, i));
  FrameProof proof = makeProof(slots, {.seed = 5});
  proof.arm(1);
  proof.arm(1);
  proof.arm(2);
  std::vector<Bytes> found;
  for(std::uint32_t i = 0; i < slots.slotCount(); ++i)
    found.push_back(inSlot(slots, i, slots.slot(i).size));
  return found;
}

TEST_P(CudaFrameProof, CanariesAreThoseOfTheCpuBitForBit) {
  const RdmaGpuBufferConfig host{.api = RdmaGpuApi::HostFallback, .host = {.lock = PageLock::Off}};
  for(const std::size_t bytes : sizes) {
    const RdmaGpuBuffer onGpu = makeSlots(GetParam(), bytes);
    const RdmaGpuBuffer onHost = makeSlots(host, bytes);
    ASSERT_EQ(onGpu.slot(0).size, onHost.slot(0).size);
    EXPECT_TRUE(laidIn(onGpu) == laidIn(onHost)) << bytes;
  }
}

TEST_P(CudaFrameProof, WholeFrameOf2160pIsProvenToThePage) {
  constexpr std::size_t bytes = 22'118'400;
  Proven slots(GetParam(), bytes);
  slots.pass(0, 1);
  for(const std::size_t page : {0U, 1U, 255U, 256U, 2700U, 5398U}) {
    slots.proof->arm(0);
    slots.write(0, 2, 0, page * pageBytes);
    slots.write(0, 2, (page + 1) * pageBytes, bytes);
    const FrameFinding found = slots.check(0);
    EXPECT_EQ(found.fault, FrameFault::Torn) << page;
    EXPECT_EQ(found.offset / pageBytes, page);
  }
}

TEST_P(CudaFrameProof, NothingButCanariesIsWritten) {
  const RdmaGpuBuffer slots = makeSlots(GetParam(), usual);
  ASSERT_TRUE(slots.clear(1));
  FrameProof proof = makeProof(slots);
  proof.arm(1);
  const Bytes laid = inSlot(slots, 1, slots.slot(1).size);
  proof.check(1, usual);
  EXPECT_TRUE(inSlot(slots, 1, laid.size()) == laid) << "a look writes nothing";
  EXPECT_LE(laid.size() - static_cast<std::size_t>(std::ranges::count(laid, std::byte{})),
            8 * (laid.size() / pageBytes + 3));
}

TEST_P(CudaFrameProof, SeveralThreadsAreServed) {
  Proven slots(GetParam());
  std::vector<std::thread> threads;
  for(std::uint32_t slot = 0; slot < 3; ++slot) {
    threads.emplace_back([&slots, slot] {
      for(std::uint64_t n = 0; n < 20; ++n) {
        slots.proof->arm(slot);
        if(n % 3 != slot)
          slots.write(slot, n);
        EXPECT_EQ(slots.check(slot).fault, n % 3 == slot ? FrameFault::Stale : FrameFault::None);
      }
    });
  }
  for(std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(slots.proof->counters().checked, 60U);
}

TEST_P(CudaFrameProof, TheCallersContextIsAsItWas) {
  const CudaDriver& cuda = CudaDriver::instance();
  const PrimaryOf own{0};
  Proven slots(GetParam());
  const auto expectKept = [&](api::Context context) {
    slots.pass(0);
    EXPECT_EQ(cuda.current(), context);
    FrameProof other = makeProof(makeSlots(GetParam(), usual));
    other.arm(0);
    EXPECT_EQ(cuda.current(), context);
  };
  expectKept(nullptr);
  {
    const CurrentContext current{own.get()};
    expectKept(own.get());
  }
  if(cuda.deviceCount() > 1) {
    const PrimaryOf others{1};
    const CurrentContext current{others.get()};
    expectKept(others.get());
  }
}

/// Frames that the copy engine writes for a peer in software.
TEST(CudaFrameProofPeer, GoodFramesOfAPeerThroughTheCopyEnginePass) {
  StagedBufferConfig config = stagedConfig(SlotPath::Direct);
  config.proof = FrameProofConfig{.onFault = FaultPolicy::Drop};
  StagedBuffer staged = makeStaged(config);
  auto queue = CopyQueue::make(staged.peerBuffer());
  ASSERT_TRUE(queue) << queue.error().message();
  Frames source{50, stagedtest::frameBytes};
  SoftwarePeer peer = makePeer(staged.peerBuffer(), {.copyThrough = &*queue});
  ASSERT_TRUE(peer.startCapture(staged.ring(), source));
  for(std::uint64_t n = 0; n < 50; ++n) {
    const RingFrame frame = takeNext(staged.ring());
    EXPECT_EQ(frame.sequence, n);
    EXPECT_EQ(frame.fault, FrameFault::None);
    EXPECT_TRUE(inApplication(staged, frame) == frameOf(n, stagedtest::frameBytes));
    ASSERT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
  }
  peer.wait();
  EXPECT_EQ(staged.proofCounters()->checked, 50U);
  EXPECT_EQ(staged.proofCounters()->faults(), 0U);
}

TEST(CudaProvenRing, FramesThatNobodyTakesAreCountedAtTheEnd) {
  StagedBufferConfig config = stagedConfig(SlotPath::Direct);
  config.proof.emplace();
  StagedBuffer staged = makeStaged(config);
  for(std::uint64_t n = 0; n < 3; ++n) {
    const std::uint32_t slot = acquireNext(staged.ring());
    if(n != 1)
      fill(staged, slot, n, 0, stagedtest::frameBytes);
    ASSERT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Ok);
  }
  staged.close();
  EXPECT_EQ(staged.proofCounters()->checked, 3U);
  EXPECT_EQ(staged.proofCounters()->stale, 1U);
  EXPECT_EQ(staged.proofCounters()->faults(), 1U);
}

/// How the driver is asked, and what happens when it refuses.
class CudaFrameProofCalls : public OnCudaStandin {
protected:
  /// What refuses every look, or flush before it, from now on.
  void failLooks(const char* call) { standin->failNamed(call, api::Status::IllegalAddress); }
  void letLooksPass() { standin->failNamed("", api::Status::Success); }

  static constexpr std::string_view pathNotProven =
      "the direct path cannot be proven: from now on frames go through host memory";
  static bool isAboutTheDirectPath(std::string_view text) { return text.starts_with("the direct path"); }
};

TEST_F(CudaFrameProofCalls, LookIsALaunchAndMakesNothing) {
  Proven slots(cudaConfig());
  standin->failCall(0); // counts anew
  for(int i = 0; i < 5; ++i) {
    slots.proof->arm(0);
    slots.check(0);
  }
  EXPECT_EQ(standin->calls("cuLaunchKernel"), 10);
  EXPECT_EQ(standin->calls("cuStreamSynchronize"), 0) << "the kernel's answer is waited for";
  for(const char* other :
      {"cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuModuleLoadData", "cuMemcpyDtoH_v2",
       "cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuFlushGPUDirectRDMAWrites"})
    EXPECT_EQ(standin->calls(other), 0) << other;
}

TEST_F(CudaFrameProofCalls, GpuThatIsBusyIsWaitedFor) {
  Proven slots(cudaConfig());
  standin->kernelsWait(true);
  standin->failCall(0); // counts anew
  slots.pass(0, 1);
  slots.proof->arm(0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  slots.pass(0, 2);
  EXPECT_GE(standin->calls("cuStreamSynchronize"), 6);
  EXPECT_EQ(slots.proof->counters().faults(), 1U);
}

TEST_F(CudaFrameProofCalls, CheckAndArmingAheadAreOneLaunchThatNobodyWaitsFor) {
  Proven slots(cudaConfig());
  slots.proof->arm(0);
  slots.write(0);
  standin->kernelsWait(true);
  standin->failCall(0); // counts anew
  slots.proof->startCheck(0, usual, 1);
  EXPECT_EQ(standin->calls("cuLaunchKernel"), 1);
  EXPECT_EQ(standin->calls("cuStreamSynchronize"), 0);
  EXPECT_EQ(slots.check(0).fault, FrameFault::None);
  EXPECT_EQ(slots.proof->arm(1).fault, FrameFault::None);
  EXPECT_EQ(standin->calls("cuLaunchKernel"), 1);
  EXPECT_EQ(standin->calls("cuStreamSynchronize"), 1);
  EXPECT_EQ(slots.check(1).fault, FrameFault::Stale);
}

TEST_F(CudaFrameProofCalls, FailureToStartIsToldByThoseWhoAsk) {
  standin->profile("unordered");
  for(const char* call : {"cuCtxPushCurrent_v2", "cuFlushGPUDirectRDMAWrites", "cuLaunchKernel"}) {
    SCOPED_TRACE(call);
    Proven slots(cudaConfig());
    const LogCapture log;
    slots.proof->arm(0);
    slots.write(0);
    failLooks(call);
    slots.proof->startCheck(0, usual, 1);
    letLooksPass();
    EXPECT_EQ(log.errors().size(), 0U);
    EXPECT_EQ(slots.proof->counters().unchecked, 0U);
    EXPECT_EQ(slots.check(0).fault, FrameFault::Unchecked);
    EXPECT_EQ(slots.proof->arm(1).fault, FrameFault::Unchecked);
    slots.write(1);
    EXPECT_EQ(slots.check(1).fault, FrameFault::Unchecked);
    EXPECT_EQ(slots.proof->counters().unchecked, 3U);
    ASSERT_EQ(log.errors().size(), 1U);
    EXPECT_STREQ(log.errors().front().call, call);
    slots.pass(0, 2);
    slots.pass(1, 2);
    EXPECT_EQ(slots.proof->counters().faults(), 3U);
  }
}

TEST_F(CudaFrameProofCalls, AnswersThatCannotBeWaitedForAreUncheckedAndDoNotDisturbTheNext) {
  Proven slots(cudaConfig());
  slots.proof->arm(0);
  slots.write(0);
  standin->kernelsWait(true);
  slots.proof->startCheck(0, usual, 1);
  failLooks("cuStreamSynchronize");
  EXPECT_EQ(slots.check(0).fault, FrameFault::Unchecked);
  EXPECT_EQ(slots.proof->recheck(1).fault, FrameFault::Unchecked);
  letLooksPass();
  slots.change(0, usual - 1);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None) << "nobody knows when that came";
  EXPECT_EQ(slots.check(0).fault, FrameFault::Stale);
  slots.pass(1);
  EXPECT_EQ(slots.proof->counters().unchecked, 2U);
}

TEST_F(CudaFrameProofCalls, ProofMayGoWhileFramesAreBeingLookedAt) {
  Proven slots(cudaConfig());
  slots.proof->arm(0);
  standin->kernelsWait(true);
  slots.proof->startCheck(0, usual, 1);
  slots.proof.reset();
}

/// A frame through a ring, and the launches that its producer made for it.
class CudaProvenRingCalls : public CudaFrameProofCalls {
protected:
  StagedBuffer make(FaultPolicy onFault, std::uint32_t slots) {
    StagedBufferConfig config = stagedConfig(SlotPath::Direct);
    config.buffer.slotCount = slots;
    config.proof = FrameProofConfig{.onFault = onFault};
    return makeStaged(config);
  }
  static void write(StagedBuffer& staged, std::uint32_t slot, std::uint64_t n) {
    fill(staged, slot, n, 0, stagedtest::frameBytes);
  }
  static RingFrame pass(StagedBuffer& staged) {
    RingFrame frame;
    EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
    EXPECT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
    return frame;
  }
};

TEST_F(CudaProvenRingCalls, FrameIsOneLaunchAndNoWait) {
  for(const FaultPolicy policy : {FaultPolicy::Report, FaultPolicy::Drop, FaultPolicy::FailOver}) {
    SCOPED_TRACE(static_cast<int>(policy));
    StagedBuffer staged = make(policy, 4);
    for(std::uint64_t n = 0; n < 8; ++n) {
      standin->failCall(0); // counts anew
      const std::uint32_t slot = acquireNext(staged.ring());
      write(staged, slot, n);
      ASSERT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Ok);
      EXPECT_EQ(pass(staged).fault, FrameFault::None);
      EXPECT_EQ(standin->calls("cuLaunchKernel"), n == 0 ? 3 : 1) << "at first the first two slots, too";
    }
    EXPECT_EQ(staged.proofCounters()->checked, 8U);
    EXPECT_EQ(staged.proofCounters()->faults(), 0U);
  }
}

TEST_F(CudaProvenRingCalls, ProducerWaitsForNoLookButWhereItsFrameMayFailOver) {
  for(const FaultPolicy policy : {FaultPolicy::Report, FaultPolicy::Drop, FaultPolicy::FailOver}) {
    SCOPED_TRACE(static_cast<int>(policy));
    StagedBuffer staged = make(policy, 4);
    const auto frame = [&](std::uint64_t n, bool written) {
      const std::uint32_t slot = acquireNext(staged.ring());
      if(written)
        write(staged, slot, n);
      standin->kernelsWait(true);
      standin->failCall(0); // counts anew
      EXPECT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Ok);
      EXPECT_EQ(standin->calls("cuStreamSynchronize"), policy == FaultPolicy::FailOver ? 1 : 0);
      standin->kernelsWait(false);
    };
    frame(0, true);
    EXPECT_EQ(pass(staged).fault, FrameFault::None);
    if(policy == FaultPolicy::FailOver)
      continue;
    frame(1, false);
    frame(2, true);
    if(policy == FaultPolicy::Report) {
      EXPECT_EQ(pass(staged).fault, FrameFault::Stale);
    }
    const RingFrame last = pass(staged);
    EXPECT_EQ(last.sequence, 2U);
    EXPECT_EQ(last.fault, FrameFault::None);
    EXPECT_EQ(staged.ring().counters().drops, policy == FaultPolicy::Drop ? 1U : 0U);
  }
}

TEST_F(CudaProvenRingCalls, SlotGoesToThePeerWithItsCanariesHoweverLateTheyAre) {
  StagedBuffer staged = make(FaultPolicy::Drop, 4);
  standin->kernelsWait(true);
  for(std::uint64_t n = 0; n < 12; ++n) {
    const std::uint32_t slot = acquireNext(staged.ring());
    if(n % 3 != 0)
      write(staged, slot, 7); // the same each time: what is not armed looks unwritten
    ASSERT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Ok);
    if(n % 3 != 0) {
      EXPECT_EQ(pass(staged).sequence, n);
    }
  }
  EXPECT_EQ(staged.ring().counters().drops, 4U);
  EXPECT_EQ(staged.proofCounters()->stale, 4U);
  EXPECT_EQ(staged.proofCounters()->faults(), 4U);
}

TEST_F(CudaProvenRingCalls, BothSidesMayWaitForTheGpuAtOnce) {
  StagedBuffer staged = make(FaultPolicy::Drop, 4);
  standin->kernelsWait(true);
  std::thread producer{[&] {
    for(std::uint64_t n = 0; n < 60; ++n) {
      const std::uint32_t slot = acquireNext(staged.ring());
      if(n % 5 != 0)
        write(staged, slot, n);
      EXPECT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Ok);
    }
    staged.ring().closeProducer();
  }};
  RingFrame frame;
  while(staged.ring().take(frame, ample) == RingStatus::Ok) {
    EXPECT_NE(frame.sequence % 5, 0U);
    EXPECT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
  }
  producer.join();
  EXPECT_EQ(staged.proofCounters()->checked, 60U);
  EXPECT_EQ(staged.proofCounters()->stale, 12U);
  EXPECT_EQ(staged.proofCounters()->faults(), 12U);
}

TEST_F(CudaProvenRingCalls, SlotsOfAPathThatHasFailedAreNotArmed) {
  StagedBuffer staged = make(FaultPolicy::FailOver, 3);
  const auto frame = [&](std::uint64_t n) {
    const std::uint32_t slot = acquireNext(staged.ring());
    write(staged, slot, n);
    EXPECT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Ok);
    EXPECT_EQ(pass(staged).fault, FrameFault::None);
  };
  frame(0);
  const std::uint32_t slot = acquireNext(staged.ring());
  EXPECT_EQ(staged.ring().publish(slot, 0, stagedtest::frameBytes), RingStatus::Faulty);
  EXPECT_EQ(staged.ring().abandon(slot), RingStatus::Ok);
  for(std::uint64_t n = 1; n < 2 * staged.ring().slotCount(); ++n)
    frame(n);
  standin->failCall(0); // counts anew
  for(std::uint64_t n = 0; n < 5; ++n)
    frame(n);
  EXPECT_EQ(standin->calls("cuLaunchKernel"), 0);
  staged.close();
  EXPECT_EQ(standin->calls("cuLaunchKernel"), 0) << "what came there since are copies of this library's";
  EXPECT_EQ(staged.proofCounters()->faults(), 1U);
}

TEST_F(CudaFrameProofCalls, WritesAreFlushedBeforeALookWhereTheBufferNeedsIt) {
  standin->profile("unordered");
  Proven slots(cudaConfig());
  standin->failCall(0); // counts anew
  slots.pass(0);
  EXPECT_EQ(standin->calls("cuFlushGPUDirectRDMAWrites"), 2);
}

TEST_F(CudaFrameProofCalls, DriverThatCannotCompileTheKernelSaysWhatToDo) {
  const RdmaGpuBuffer slots = makeSlots(cudaConfig(), usual);
  for(const unsigned code : {209U, 218U, 221U, 222U, 223U}) {
    standin->failNamed("cuModuleLoadData", static_cast<api::Status>(code));
    const auto refused = FrameProof::make(slots);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Errc::Unsupported) << refused.error().message();
    EXPECT_STREQ(refused.error().finding, "no-kernels");
    EXPECT_TRUE(hintsName(refused.error(), "proof")) << refused.error().codeName;
  }
}

TEST_F(CudaFrameProofCalls, FrameThatCannotBeLookedAtIsUncheckedAndTheNextIsProvenAgain) {
  standin->profile("unordered");
  for(const char* call : {"cuFlushGPUDirectRDMAWrites", "cuLaunchKernel", "cuStreamSynchronize"}) {
    SCOPED_TRACE(call);
    const LogCapture log;
    Proven slots(cudaConfig());
    standin->kernelsWait(true);
    slots.proof->arm(1);
    slots.write(1);
    failLooks(call);
    EXPECT_EQ(slots.check(1).fault, FrameFault::Unchecked);
    EXPECT_EQ(slots.check(1).fault, FrameFault::Unchecked) << "what the last one found";
    letLooksPass();
    EXPECT_EQ(slots.proof->finding(1).fault, FrameFault::Unchecked);
    EXPECT_EQ(slots.proof->counters().unchecked, 1U);
    EXPECT_EQ(slots.proof->counters().checked, 0U);
    ASSERT_EQ(log.errors().size(), 1U);
    EXPECT_STREQ(log.errors().front().call, call);
    EXPECT_EQ(log.errors().front().slot, 1);
    slots.pass(1, 2);
    slots.pass(1, 2);
    EXPECT_EQ(slots.proof->counters().faults(), 1U) << "nothing but that";
  }
}

TEST_F(CudaFrameProofCalls, SlotThatCannotBeArmedHasAFrameThatIsUnchecked) {
  for(const char* call : {"cuCtxPushCurrent_v2", "cuLaunchKernel", "cuStreamSynchronize"}) {
    SCOPED_TRACE(call);
    const LogCapture log;
    Proven slots(cudaConfig());
    standin->kernelsWait(true);
    slots.pass(0, 2);
    failLooks(call);
    EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Unchecked);
    letLooksPass();
    slots.write(0, 2); // the same again, which old words would make stale
    EXPECT_EQ(slots.check(0).fault, FrameFault::Unchecked);
    EXPECT_EQ(slots.proof->counters().unchecked, 2U);
    ASSERT_EQ(log.errors().size(), 1U);
    EXPECT_STREQ(log.errors().front().call, call);
    slots.pass(0, 3);
    EXPECT_EQ(slots.proof->counters().faults(), 2U) << "nothing but those";
  }
}

TEST_F(CudaFrameProofCalls, SlotThatCannotBeLookedAtAgainIsUncheckedOnce) {
  const LogCapture log;
  Proven slots(cudaConfig());
  slots.pass(0);
  failLooks("cuLaunchKernel");
  EXPECT_EQ(slots.proof->recheck(0).fault, FrameFault::Unchecked);
  letLooksPass();
  slots.change(0, usual - 1);
  EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::None) << "nobody knows when that came";
  EXPECT_EQ(slots.proof->counters().faults(), 1U);
  EXPECT_EQ(log.errors().size(), 1U);
}

TEST_F(CudaFrameProofCalls, RingTreatsUncheckedFramesAsFaultyOnes) {
  for(const FaultPolicy policy : {FaultPolicy::Report, FaultPolicy::Drop, FaultPolicy::FailOver}) {
    SCOPED_TRACE(static_cast<int>(policy));
    StagedBufferConfig config = stagedConfig(SlotPath::Direct);
    config.proof = FrameProofConfig{.onFault = policy};
    StagedBuffer staged = makeStaged(config);
    const std::uint32_t slot = acquireNext(staged.ring());
    fill(staged, slot, 0, 0, stagedtest::frameBytes);
    const LogCapture log;
    failLooks("cuLaunchKernel");
    const RingStatus published = staged.ring().publish(slot, 0, stagedtest::frameBytes);
    letLooksPass();
    RingFrame frame;
    const RingStatus taken = staged.ring().tryTake(frame);
    EXPECT_EQ(published, policy == FaultPolicy::FailOver ? RingStatus::Faulty : RingStatus::Ok);
    EXPECT_EQ(taken, policy == FaultPolicy::Report ? RingStatus::Ok : RingStatus::Empty);
    EXPECT_EQ(frame.fault, policy == FaultPolicy::Report ? FrameFault::Unchecked : FrameFault::None);
    EXPECT_EQ(staged.ring().counters().drops, policy == FaultPolicy::Drop ? 1U : 0U);
    // One that fails over is armed again, which fails too.
    EXPECT_EQ(staged.proofCounters()->unchecked, policy == FaultPolicy::FailOver ? 2U : 1U);
    const auto texts = log.texts();
    EXPECT_EQ(std::ranges::count_if(texts, isAboutTheDirectPath), policy == FaultPolicy::FailOver ? 1 : 0);
    EXPECT_EQ(std::ranges::count(texts, pathNotProven), policy == FaultPolicy::FailOver ? 1 : 0)
        << "it has not failed";
  }
}

TEST_F(CudaFrameProofCalls, EveryCallFailsOnce) {
  standin->profile("unordered");
  for(const CudaMemory kind : kinds) {
    everyCallFailsOnce(*standin, [&] {
      const LogCapture log;
      Outcome outcome;
      {
        auto config = cudaConfig(kind);
        config.slotCount = 2;
        const auto slots = RdmaGpuBuffer::make(config);
        outcome.result = slots ? Result<void>{} : Result<void>{slots.error()};
        if(slots) {
          outcome.survived = survivedBy(slots->facts());
          auto proof = FrameProof::make(*slots);
          if(proof) {
            proof->arm(1);
            standin->kernelsWait(true);
            proof->startCheck(1, config.frameBytes, 0);
            proof->check(1, config.frameBytes);
            proof->arm(0);
            standin->kernelsWait(false);
          } else {
            outcome.result = proof.error();
          }
        }
      }
      const auto logged = log.errors();
      outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
      return outcome;
    });
  }
}

TEST_F(CudaFrameProofCalls, TheCallersContextIsAsItWasWhicheverCallFails) {
  const RdmaGpuBuffer slots = makeSlots(cudaConfig(CudaMemory::Vmm), usual);
  bool failed = true;
  for(int n = 1; failed; ++n) {
    const LogCapture log;
    standin->failCall(n);
    if(auto proof = FrameProof::make(slots)) {
      proof->arm(0);
      proof->check(0, usual);
    }
    failed = !standin->failedCall().empty();
    standin->failCall(0);
    EXPECT_EQ(CudaDriver::instance().current(), nullptr) << n;
  }
}

TEST_F(CudaFrameProofCalls, DriverThatHasGoneIsUncheckedAndNoFailureAtTheEnd) {
  for(const CudaMemory kind : kinds) {
    {
      Proven slots(cudaConfig(kind));
      const LogCapture log;
      standin->shutDownAfter(1);
      EXPECT_EQ(slots.proof->arm(0).fault, FrameFault::Unchecked);
      ASSERT_EQ(log.errors().size(), 1U);
      EXPECT_EQ(log.errors().front().kind, Errc::Lost);
      slots.proof.reset();
      EXPECT_EQ(log.errors().size(), 1U);
    }
    standin->shutDownAfter(0);
  }
}

} // namespace
} // namespace rdmagpu::prooftest
