#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>
#include <core/slot_ring_impl.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/staged_buffer.hpp>
#include <support/log_capture.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::test {
namespace {

constexpr std::chrono::nanoseconds ample = std::chrono::minutes{5};
constexpr std::size_t frameBytes = 100'001;
using Bytes = std::vector<std::byte>;

/// A peer that addresses host memory only, and an application on the GPU.
StagedBufferConfig stagedConfig(SlotFlow flow = SlotFlow::Capture, std::uint32_t slots = 3) {
  StagedBufferConfig config{.buffer = cudaConfig(), .flow = flow, .sliceBytes = 8192};
  config.buffer.slotCount = slots;
  config.buffer.frameBytes = frameBytes;
  config.buffer.accepts = {HandoffKind::HostPointer};
  config.buffer.host.lock = PageLock::Off;
  return config;
}

StagedBuffer make(const StagedBufferConfig& config) {
  auto made = StagedBuffer::make(config);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

Bytes frameOf(std::uint64_t n) {
  Bytes frame(frameBytes);
  for(std::size_t i = 0; i < frame.size(); ++i)
    frame[i] = static_cast<std::byte>(1 + (n * 131 + i * 7) % 255);
  return frame;
}

std::byte* peerSlot(const StagedBuffer& staged, std::uint32_t slot) {
  return static_cast<std::byte*>(cpuAddress(staged.handoff(slot)));
}

/// A slot, filled by the peer up to `ready` and published.
std::uint32_t capture(StagedBuffer& staged, std::uint64_t n, std::size_t ready = frameBytes) {
  std::uint32_t slot{};
  EXPECT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
  std::memcpy(peerSlot(staged, slot), frameOf(n).data(), ready);
  EXPECT_EQ(staged.ring().publish(slot, 0, frameBytes, ready), RingStatus::Ok);
  return slot;
}

void captureRest(StagedBuffer& staged, std::uint32_t slot, std::uint64_t n, std::size_t from) {
  std::memcpy(peerSlot(staged, slot) + from, frameOf(n).data() + from, frameBytes - from);
  EXPECT_EQ(staged.ring().advance(slot, frameBytes), RingStatus::Ok);
}

Bytes inApplication(const StagedBuffer& staged, std::uint32_t slot) {
  Bytes found(frameBytes);
  EXPECT_TRUE(staged.applicationBuffer().download(slot, found));
  return found;
}

TEST(CudaStaged, PeerThatReachesTheGpuIsDirect) {
  auto config = stagedConfig();
  config.buffer.accepts = {};
  const auto staged = make(config);
  EXPECT_EQ(staged.facts().path, SlotPath::Direct);
  EXPECT_EQ(kind(staged.handoff(0)), HandoffKind::CudaPointer);
  EXPECT_EQ(staged.facts().application.rdmaCapable, Answer::Yes);
}

TEST(CudaStaged, PeerThatReachesHostMemoryOnlyIsStagedAndTheFactsSayWhy) {
  const auto staged = make(stagedConfig());
  EXPECT_EQ(staged.facts().path, SlotPath::Staged);
  EXPECT_STREQ(staged.facts().reason.codeName, "PeerCannotAddress");
  EXPECT_EQ(staged.facts().application.api, RdmaGpuApi::Cuda);
  EXPECT_EQ(staged.facts().peer.api, RdmaGpuApi::HostFallback);
  EXPECT_EQ(staged.facts().peer.pinnedBy, PinnedBy::Cuda);
  EXPECT_EQ(kind(staged.handoff(0)), HandoffKind::HostPointer);
  EXPECT_EQ(addressBits(staged.handoff(1)) % (64 * 1024), 0U);
  EXPECT_EQ(kind(staged.applicationBuffer().handoff(0)), HandoffKind::CudaPointer);
}

TEST(CudaStaged, CapturedFramesArriveWholeOrInSlices) {
  auto staged = make(stagedConfig());
  for(std::uint64_t n = 0; n < 20; ++n) {
    const std::size_t ready = n % 2 == 0 ? frameBytes : 50'000;
    const std::uint32_t slot = capture(staged, n, ready);
    if(ready < frameBytes)
      captureRest(staged, slot, n, ready);
    RingFrame frame;
    ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
    ASSERT_EQ(staged.ring().waitBytes(frame.slot, frameBytes, ample), RingStatus::Ok);
    EXPECT_EQ(frame.sequence, n);
    EXPECT_TRUE(inApplication(staged, frame.slot) == frameOf(n)) << n;
    staged.ring().release(frame.slot);
  }
}

TEST(CudaStaged, FramesToPlayOutReachThePeer) {
  auto staged = make(stagedConfig(SlotFlow::Playout));
  for(std::uint64_t n = 0; n < 20; ++n) {
    std::uint32_t slot{};
    ASSERT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
    ASSERT_TRUE(staged.applicationBuffer().upload(slot, frameOf(n)));
    ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes), RingStatus::Ok);
    RingFrame frame;
    ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
    EXPECT_EQ(std::memcmp(peerSlot(staged, frame.slot), frameOf(n).data(), frameBytes), 0) << n;
    staged.ring().release(frame.slot);
  }
}

TEST(CudaStaged, ApplicationsOwnCopiesComeFirst) {
  auto staged = make(stagedConfig(SlotFlow::Playout));
  auto queue = CopyQueue::make(staged.applicationBuffer());
  ASSERT_TRUE(queue);
  PinnedBytes rendered{frameBytes, 7};
  std::uint32_t slot{};
  ASSERT_EQ(staged.ring().acquire(slot, ample), RingStatus::Ok);
  const auto copy = queue->upload(slot, rendered.span());
  ASSERT_TRUE(copy);
  ASSERT_EQ(staged.ring().publish(slot, 0, frameBytes, copy->completion()), RingStatus::Ok);
  RingFrame frame;
  ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  EXPECT_EQ(std::memcmp(peerSlot(staged, frame.slot), rendered.bytes().data(), frameBytes), 0);
}

TEST(CudaStaged, SliceIsMeasuredInBothDirections) {
  for(const SlotFlow flow : {SlotFlow::Capture, SlotFlow::Playout}) {
    auto config = stagedConfig(flow);
    config.sliceBytes = 0;
    config.buffer.frameBytes = 1'000'000;
    EXPECT_GE(make(config).facts().sliceBytes, 65536U);
  }
}

TEST(CudaStaged, CompanionsArePinned) {
  auto config = stagedConfig();
  config.companionBytes = 1000;
  const auto staged = make(config);
  const PrimaryOf primary{0};
  const CurrentContext current{primary.get()};
  // What is pinned already cannot be pinned again.
  EXPECT_NE(CudaDriver::instance().functions.memHostRegister(staged.companion(1).data(), 1000,
                                                             api::HostRegisterFlags::Portable),
            api::Status::Success);
}

TEST(CudaStaged, NoContextStaysCurrent) {
  ASSERT_EQ(CudaDriver::instance().current(), nullptr);
  {
    auto staged = make(stagedConfig());
    EXPECT_EQ(CudaDriver::instance().current(), nullptr);
    capture(staged, 0);
  }
  EXPECT_EQ(CudaDriver::instance().current(), nullptr);
  EXPECT_FALSE(CudaDriver::instance().primaryIsActive());
}

class CudaStagedOnStandin : public OnCudaStandin {
protected:
  static void expectClosedWith(StagedBuffer& staged, const char* call, std::uint32_t slot) {
    RingFrame frame;
    EXPECT_EQ(staged.ring().take(frame, ample), RingStatus::Closed);
    std::uint32_t none{};
    EXPECT_EQ(staged.ring().tryAcquire(none), RingStatus::Closed);
    EXPECT_STREQ(staged.error().call, call);
    EXPECT_EQ(staged.error().slot, static_cast<std::int32_t>(slot));
  }
};

TEST_F(CudaStagedOnStandin, GpuThatNoPeerReachesIsStaged) {
  standin->profile("geforce");
  auto config = stagedConfig();
  config.buffer.accepts = {};
  {
    auto staged = make(config);
    EXPECT_EQ(staged.facts().path, SlotPath::Staged);
    EXPECT_STREQ(staged.facts().reason.codeName, "NotRdmaCapable");
    EXPECT_EQ(staged.facts().application.rdmaCapable, Answer::No);
    const std::uint32_t slot = capture(staged, 1);
    RingFrame frame;
    ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
    EXPECT_TRUE(inApplication(staged, slot) == frameOf(1));
  }
  config.path = SlotPath::Direct;
  EXPECT_STREQ(StagedBuffer::make(config).error().codeName, "NotRdmaCapable");
}

TEST_F(CudaStagedOnStandin, FlagThatHasNoEffectIsNoReasonToStage) {
  auto config = stagedConfig();
  config.buffer.accepts = {};
  standin->profile("flag-ignored");
  {
    const auto direct = make(config);
    EXPECT_EQ(direct.facts().path, SlotPath::Direct);
    EXPECT_EQ(direct.facts().application.cudaMemory, CudaMemory::MemAlloc);
  }
  standin->profile("unreachable");
  const auto staged = make(config);
  EXPECT_EQ(staged.facts().path, SlotPath::Staged);
  EXPECT_STREQ(staged.facts().reason.codeName, "NotRdmaCapable");
}

TEST_F(CudaStagedOnStandin, GpuWithoutVmmIsStaged) {
  standin->profile("no-vmm");
  EXPECT_EQ(make(stagedConfig()).facts().application.cudaMemory, CudaMemory::MemAlloc);
}

TEST_F(CudaStagedOnStandin, HostSlotsArePinnedForTheApplicationsGpu) {
  standin->profile("integrated-first");
  auto config = stagedConfig();
  config.buffer.peer = somePeer();
  const auto staged = make(config);
  EXPECT_EQ(staged.facts().application.pci, PciAddress{.bus = 0x3C});
  EXPECT_EQ(staged.facts().peer.directForGpu, Answer::No) << "as of a GPU with memory of its own";
  EXPECT_FALSE(CudaDriver::instance().primaryIsActive(0));
}

TEST_F(CudaStagedOnStandin, HostSlotsThatCannotBePinnedAreRefusedUnlessThatIsTolerated) {
  standin->failNamed("cuMemHostRegister_v2", api::Status::NotSupported);
  auto config = stagedConfig();
  EXPECT_STREQ(StagedBuffer::make(config).error().call, "cuMemHostRegister_v2");
  config.buffer.host.gpuPin = GpuPin::Try;
  const auto staged = make(config);
  EXPECT_STREQ(staged.facts().peer.pinError.call, "cuMemHostRegister_v2");
  EXPECT_EQ(staged.facts().peer.pinnedBy, PinnedBy::Nobody);
}

TEST_F(CudaStagedOnStandin, CopyThatCannotBeStartedClosesTheRing) {
  auto staged = make(stagedConfig());
  standin->failNamed("cuMemcpyHtoDAsync_v2", api::Status::Unknown);
  expectClosedWith(staged, "cuMemcpyHtoDAsync_v2", capture(staged, 0));
}

TEST_F(CudaStagedOnStandin, CopyThatFailsIsNotHandedOver) {
  const LogCapture log;
  auto staged = make(stagedConfig());
  standin->failNamed("cuEventQuery", static_cast<api::Status>(700));
  const std::uint32_t slot = capture(staged, 0);
  expectClosedWith(staged, "cuEventQuery", slot);
  staged.close();
  // A consumer that looks while the ring is being closed sees this and nothing else.
  EXPECT_FALSE(core::RingAccess::impl(staged.ring()).stage->slots[slot].offered);
}

TEST_F(CudaStagedOnStandin, FrameWhoseLaterSliceFailsNeverBecomesWhole) {
  auto staged = make(stagedConfig());
  const std::uint32_t slot = capture(staged, 0, 50'000);
  RingFrame frame;
  ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  standin->failNamed("cuMemcpyHtoDAsync_v2", api::Status::Unknown);
  captureRest(staged, slot, 0, 50'000);
  EXPECT_EQ(staged.ring().waitBytes(slot, frameBytes, ample), RingStatus::Closed);
  EXPECT_LT(staged.ring().bytesReady(slot), frameBytes);
  EXPECT_EQ(staged.ring().release(slot), RingStatus::Ok);
  expectClosedWith(staged, "cuMemcpyHtoDAsync_v2", slot);
}

TEST_F(CudaStagedOnStandin, ObjectWaitsForCopiesUnderWay) {
  auto staged = make(stagedConfig());
  standin->questionsUntilDone(-1);
  capture(staged, 0);
  capture(staged, 1, 50'000);
}

TEST_F(CudaStagedOnStandin, SteadyStateMakesNothing) {
  auto staged = make(stagedConfig());
  standin->failCall(0); // counts anew
  for(std::uint64_t n = 0; n < 20; ++n) {
    capture(staged, n);
    RingFrame frame;
    ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
    staged.ring().release(frame.slot);
  }
  EXPECT_EQ(standin->calls("cuMemcpyHtoDAsync_v2"), 20) << "a frame that is there is copied at once";
  for(const char* made : {"cuEventCreate", "cuStreamCreate", "cuDevicePrimaryCtxRetain"})
    EXPECT_EQ(standin->calls(made), 0) << made;
}

Result<void> useOnce(StagedBuffer& staged) {
  std::uint32_t slot{};
  RingFrame frame;
  const bool passed = staged.ring().acquire(slot, ample) == RingStatus::Ok &&
                      staged.ring().publish(slot, 0, frameBytes, 50'000) == RingStatus::Ok &&
                      staged.ring().advance(slot, frameBytes) == RingStatus::Ok &&
                      staged.ring().take(frame, ample) == RingStatus::Ok &&
                      staged.ring().waitBytes(slot, frameBytes, ample) == RingStatus::Ok;
  return passed ? Result<void>{} : staged.error();
}

TEST_F(CudaStagedOnStandin, EveryCallFailsOnce) {
  standin->questionsUntilDone(0);
  for(const SlotFlow flow : {SlotFlow::Capture, SlotFlow::Playout}) {
    everyCallFailsOnce(*standin, [&] {
      const LogCapture log;
      Outcome outcome;
      {
        auto config = stagedConfig(flow, 1);
        config.companionBytes = 1000;
        config.sliceBytes = 0;
        auto staged = StagedBuffer::make(config);
        outcome.result = staged ? useOnce(*staged) : Result<void>{staged.error()};
        if(staged)
          outcome.survived = survivedBy(staged->facts().application);
      }
      const auto logged = log.errors();
      outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
      return outcome;
    });
  }
}

} // namespace
} // namespace rdmagpu::test
