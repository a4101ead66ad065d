#include "registrar_fixture.hpp"

#include <contract/cuda_driver.hpp>

#include <fcntl.h>

namespace rdmagpu::peers {
namespace {

/// What a peer's SDK takes, tried on slots of the software CUDA device.
class RegistrarLimits : public test::OnCudaStandin {
protected:
  static RdmaGpuBuffer makeCuda(CudaMemory memory) {
    auto made = RdmaGpuBuffer::make(test::cudaConfig(memory)); // four slots of 131072 bytes
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }

  /// Nothing may have been pinned.
  static std::string refusal(const RdmaGpuBuffer& buffer, const PinLimits& limits,
                             PinUnit unit = PinUnit::Slot) {
    FakeSdk sdk;
    Registrar registrar = sdk.registrar(unit);
    registrar.limits = limits;
    const auto made = PeerRegistration::make(buffer, registrar);
    EXPECT_THAT(sdk.calls.empty() || made, testing::IsTrue());
    return made ? "" : made.error().message();
  }
};

TEST_F(RegistrarLimits, OfThePinsSizes) {
  const RdmaGpuBuffer buffer = makeCuda(CudaMemory::MemAlloc);
  EXPECT_EQ(refusal(buffer, {.maxBytes = 131072}), "");
  EXPECT_EQ(refusal(buffer, {.maxBytes = 131071}),
            "PeerRegistration::make: what is pinned at a time must be no larger than the peer's SDK takes; "
            "asked 131072, available 131071; slot 0");
  EXPECT_EQ(refusal(buffer, {.maxBytes = 131072}, PinUnit::Region),
            "PeerRegistration::make: what is pinned at a time must be no larger than the peer's SDK takes; "
            "asked 524288, available 131072");
  EXPECT_EQ(refusal(buffer, {.maxTotalBytes = 524288}), "");
  EXPECT_EQ(
      refusal(buffer, {.maxTotalBytes = 524287}),
      "PeerRegistration::make: all that is pinned together must be no larger than the peer's SDK takes; "
      "asked 524288, available 524287");
}

TEST_F(RegistrarLimits, OfTheirAlignment) {
  const RdmaGpuBuffer buffer = makeCuda(CudaMemory::Vmm);
  EXPECT_EQ(refusal(buffer, {.alignment = 65536}), "");
  const std::uint64_t far = std::uint64_t{1} << 60U;
  EXPECT_THAT(refusal(buffer, {.alignment = far}),
              testing::AllOf(HasSubstr("the address of what is pinned must be a multiple"),
                             HasSubstr("asked " + std::to_string(addressBits(buffer.handoff(0)))),
                             HasSubstr("available " + std::to_string(far))));
  // A dma-buf has no address but an offset, here 0.
  EXPECT_THAT(refusal(buffer, {.accepts = {HandoffKind::DmaBuf}, .alignment = 1U << 20}, PinUnit::Region),
              HasSubstr("the size of what is pinned must be a multiple of what the peer's SDK asks for; "
                        "asked 524288, available 1048576"));
}

TEST_F(RegistrarLimits, OfTheMemory) {
  const RdmaGpuBuffer vmm = makeCuda(CudaMemory::Vmm);
  const RdmaGpuBuffer memAlloc = makeCuda(CudaMemory::MemAlloc);
  const RdmaGpuBuffer host = makeBuffer();
  EXPECT_EQ(refusal(memAlloc, {.memAllocOnly = true}), "");
  EXPECT_EQ(refusal(host, {.memAllocOnly = true}), ""); // is not CUDA's at all
  EXPECT_THAT(refusal(vmm, {.memAllocOnly = true}), HasSubstr("must be cuMemAlloc's; slot 0"));
  const PinLimits hostOnly{.accepts = {HandoffKind::HostPointer}};
  EXPECT_EQ(refusal(host, hostOnly), "");
  EXPECT_THAT(refusal(vmm, hostOnly), HasSubstr("the peer cannot address this kind of memory; slot 0"));
  EXPECT_THAT(refusal(host, {.accepts = {HandoffKind::CudaPointer}}), HasSubstr("cannot address"));
}

TEST_F(RegistrarLimits, HaveHints) {
  FakeSdk sdk;
  Registrar registrar = sdk.registrar();
  registrar.limits.memAllocOnly = true;
  const auto made = PeerRegistration::make(makeCuda(CudaMemory::Vmm), registrar);
  ASSERT_FALSE(made);
  ASSERT_FALSE(made.error().hints().empty());
  EXPECT_THAT(made.error().hints().front(), HasSubstr("CudaMemory::MemAlloc"));
}

TEST_F(RegistrarLimits, WhatHasNoAddressThatThePeerTakesGoesAsADmaBuf) {
  for(const PinUnit unit : {PinUnit::Slot, PinUnit::Region}) {
    FakeSdk sdk;
    Registrar registrar = sdk.registrar(unit);
    registrar.limits.accepts = {HandoffKind::HostPointer, HandoffKind::DmaBuf};
    RdmaGpuBuffer buffer = makeCuda(CudaMemory::Vmm);
    auto made = PeerRegistration::make(buffer, registrar);
    ASSERT_TRUE(made) << made.error().message();
    buffer.destroy();
    for(const PinView& view : sdk.pinned) {
      EXPECT_EQ(kind(view.handoff), HandoffKind::DmaBuf);
      EXPECT_NE(fcntl(view.dmaBuf, F_GETFD), -1);
    }
    EXPECT_EQ(sdk.pinned.size(), unit == PinUnit::Slot ? 4U : 1U);
    EXPECT_EQ(made->slot(3).offset, unit == PinUnit::Slot ? 0U : 3U * 131072);
    const int fd = sdk.pinned[0].dmaBuf;
    EXPECT_TRUE(made->release());
    EXPECT_EQ(fcntl(fd, F_GETFD), -1); // closed once it was unpinned
  }
}

TEST_F(RegistrarLimits, AnExportThatFailsPinsNothing) {
  FakeSdk sdk;
  Registrar registrar = sdk.registrar();
  registrar.limits.accepts = {HandoffKind::DmaBuf};
  const RdmaGpuBuffer buffer = makeCuda(CudaMemory::Vmm);
  standin->failNamed("cuMemGetHandleForAddressRange", test::api::Status::NotSupported);
  const auto made = PeerRegistration::make(buffer, registrar);
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().call, "cuMemGetHandleForAddressRange");
  EXPECT_EQ(made.error().slot, 0);
  EXPECT_THAT(sdk.calls, IsEmpty());
}

} // namespace
} // namespace rdmagpu::peers
