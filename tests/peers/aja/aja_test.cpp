#include "software_aja.hpp"

#include <contract/cuda_driver.hpp>
#include <rdmagpu/peers/aja.hpp>

#include <gmock/gmock.h>

#include <utility>

namespace rdmagpu::ajatest {
namespace {

using peers::ajaRegistrar;
using peers::PeerRegistration;
using testing::HasSubstr;
using testing::IsEmpty;

/// A card whose rules are kept, and slots on the software CUDA device.
class Aja : public test::OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    start({});
  }
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_EQ(locked(), 0U);
  }

  void start(const CardConfig& config) {
    reset(config);
    ASSERT_TRUE(card.Open(0));
  }
  static RdmaGpuBuffer makeBuffer(RdmaGpuApi api, CudaMemory memory = CudaMemory::MemAlloc) {
    auto made = RdmaGpuBuffer::make({.api = api,
                                     .slotCount = 3,
                                     .frameBytes = 100'000,
                                     .host = {.lock = PageLock::Off},
                                     .cudaMemory = memory});
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }

  CNTV2Card card;
};

TEST_F(Aja, LocksTheGpusMemoryForRdmaAndTheHostsWithout) {
  for(const RdmaGpuApi api : {RdmaGpuApi::Cuda, RdmaGpuApi::HostFallback}) {
    auto made = PeerRegistration::make(makeBuffer(api), ajaRegistrar(card));
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(locked(), 3U);
    EXPECT_EQ(lockedForRdma(), api == RdmaGpuApi::Cuda ? 3U : 0U);
    EXPECT_EQ(made->proof().registered, Answer::Yes);
    EXPECT_EQ(made->proof().written, Answer::Unknown);
    EXPECT_TRUE(made->release());
    EXPECT_EQ(locked(), 0U);
  }
}

TEST_F(Aja, ItsOwnDmaEngineProvesBothDirections) {
  for(const RdmaGpuApi api : {RdmaGpuApi::Cuda, RdmaGpuApi::HostFallback}) {
    const RdmaGpuBuffer buffer = makeBuffer(api);
    auto made = PeerRegistration::make(buffer, ajaRegistrar(card, 7));
    ASSERT_TRUE(made);
    const auto report = made->verify(buffer);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(made->proof().written, Answer::Yes);
    EXPECT_EQ(made->proof().read, Answer::Yes);
    EXPECT_EQ(made->proof().by, Agent::Device);
  }
}

TEST_F(Aja, ALockThatDeliversNothingIsFound) {
  start({.delivers = false});
  auto registrar = ajaRegistrar(card, 7);
  registrar.verify = VerifyOptions{.bytes = 65536};
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::Cuda), registrar);
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().codeName, "DataMismatch");
  EXPECT_EQ(locked(), 0U);
}

TEST_F(Aja, ADriverWithoutRdmaIsAnErrorThatSaysWhatToDo) {
  start({.takesRdma = false});
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::Cuda), ajaRegistrar(card));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "DMABufferLock (inRDMA) failed: false (0); asked 131072; slot 0");
  ASSERT_FALSE(made.error().hints().empty());
  EXPECT_THAT(made.error().hints().front(), HasSubstr("ajardma"));
  EXPECT_TRUE(PeerRegistration::make(makeBuffer(RdmaGpuApi::HostFallback), ajaRegistrar(card)));
}

TEST_F(Aja, TheThirdLockThatIsRefusedUndoesTwo) {
  start({.lockLimit = 2});
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::Cuda), ajaRegistrar(card));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().slot, 2);
  EXPECT_EQ(locked(), 0U);
}

TEST_F(Aja, MemoryOfVirtualMemoryManagementIsRefusedBeforeItIsLocked) {
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::Cuda, CudaMemory::Vmm), ajaRegistrar(card));
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().codeName, "PeerNeedsMemAlloc");
}

TEST_F(Aja, LimitsAreThoseOfTheSdksTypes) {
  const auto limits = ajaRegistrar(card).limits;
  EXPECT_EQ(limits.alignment, 65536U);
  EXPECT_EQ(limits.maxBytes, (std::uint64_t{1} << 32U) - 65536);
  EXPECT_FALSE(limits.accepts.contains(HandoffKind::DmaBuf));
}

TEST_F(Aja, AnUnlockThatFailsIsReturnedAndTriedAgain) {
  auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::HostFallback), ajaRegistrar(card));
  ASSERT_TRUE(made);
  EXPECT_TRUE(card.Close() && !violations().empty()); // under the registration's feet
  const auto released = made->release();
  ASSERT_FALSE(released);
  EXPECT_STREQ(released.error().call, "DMABufferUnlock");
  EXPECT_EQ(released.error().slot, 2);
  ASSERT_TRUE(card.Open(0));
  EXPECT_TRUE(made->release());
  EXPECT_EQ(locked(), 0U);
  reset({});
}

TEST_F(Aja, ATransferThatFailsIsNoProof) {
  for(const char* call : {"DMAWriteFrame", "DMAReadFrame"}) {
    start({.failing = {call}});
    const RdmaGpuBuffer buffer = makeBuffer(RdmaGpuApi::HostFallback);
    auto made = PeerRegistration::make(buffer, ajaRegistrar(card, 7));
    ASSERT_TRUE(made);
    const auto report = made->verify(buffer, {.bytes = 64});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->write, Answer::No);
    EXPECT_EQ(report->read, Answer::No);
    EXPECT_STREQ(report->writeError.call, call);
    EXPECT_STREQ(report->readError.call, call);
  }
}

} // namespace
} // namespace rdmagpu::ajatest
