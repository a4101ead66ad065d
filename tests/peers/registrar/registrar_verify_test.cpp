#include "registrar_fixture.hpp"

namespace rdmagpu::peers {
namespace {

Registrar moving(FakeSdk& sdk, PinUnit unit = PinUnit::Slot) {
  Registrar registrar = sdk.registrar(unit);
  registrar.write = writeSlot;
  registrar.read = readSlot;
  return registrar;
}

TEST(RegistrarVerify, PinningProvesNothing) {
  FakeSdk sdk;
  const auto made = PeerRegistration::make(makeBuffer(), moving(sdk));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->proof().allocated, Answer::Yes);
  EXPECT_EQ(made->proof().registered, Answer::Yes);
  EXPECT_EQ(made->proof().written, Answer::Unknown);
  EXPECT_EQ(made->proof().read, Answer::Unknown);
  EXPECT_EQ(made->proof().by, Agent::None);
}

TEST(RegistrarVerify, BytesOfThePeerAreTheProof) {
  for(const PinUnit unit : {PinUnit::Slot, PinUnit::Region}) {
    FakeSdk sdk;
    const RdmaGpuBuffer buffer = makeBuffer();
    auto made = PeerRegistration::make(buffer, moving(sdk, unit));
    ASSERT_TRUE(made);
    const auto report = made->verify(buffer, {.bytes = 4096});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_STREQ(report->peer, "fake");
    EXPECT_EQ(report->slots, 3U);
    EXPECT_EQ(report->proof.registered, Answer::Yes);
    EXPECT_EQ(made->proof().written, Answer::Yes);
    EXPECT_EQ(made->proof().read, Answer::Yes);
    EXPECT_EQ(made->proof().by, Agent::Software); // and no device
  }
}

TEST(RegistrarVerify, APeerWhoseBytesGoElsewhereIsNotRegistered) {
  FakeSdk sdk;
  Registrar registrar = moving(sdk);
  registrar.write = [](const PinnedSlot& slot, std::span<const std::byte> bytes) -> Result<void> {
    return slot.slot == 1 ? Result<void>{} : writeSlot(slot, bytes);
  };
  const RdmaGpuBuffer buffer = makeBuffer();
  {
    auto made = PeerRegistration::make(buffer, registrar);
    ASSERT_TRUE(made); // as the SDK said
    const auto report = made->verify(buffer);
    ASSERT_TRUE(report);
    ASSERT_EQ(report->failures.size(), 1U);
    EXPECT_TRUE(report->failures[0].untouched);
    EXPECT_EQ(made->proof().written, Answer::No);
    EXPECT_EQ(made->proof().read, Answer::Yes);
  }
  sdk.calls.clear();
  registrar.verify = VerifyOptions{};
  const auto made = PeerRegistration::make(buffer, registrar);
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().codeName, "DataMismatch");
  EXPECT_EQ(made.error().slot, 1);
  EXPECT_EQ(made.error().bytes, 131072U);
  EXPECT_THAT(sdk.calls, ElementsAre("pin 0", "pin 1", "pin 2", "quiesce", "unpin 2", "unpin 1", "unpin 0"));
}

TEST(RegistrarVerify, ATransferThatFailsKeepsItsError) {
  FakeSdk sdk;
  Registrar registrar = moving(sdk);
  registrar.verify = VerifyOptions{.bytes = 64};
  registrar.read = [](const PinnedSlot& slot, std::span<std::byte> bytes) -> Result<void> {
    return slot.slot == 2 ? peerError("FakeRead", 5, "FAKE_BUS") : readSlot(slot, bytes);
  };
  const auto made = PeerRegistration::make(makeBuffer(), registrar);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "FakeRead failed: FAKE_BUS (5); slot 2");
}

TEST(RegistrarVerify, OneThatThrowsIsAFailure) {
  FakeSdk sdk;
  Registrar registrar = moving(sdk);
  registrar.write = [](const PinnedSlot&, std::span<const std::byte>) -> Result<void> { throw 1; };
  const RdmaGpuBuffer buffer = makeBuffer();
  auto made = PeerRegistration::make(buffer, registrar);
  ASSERT_TRUE(made);
  const auto report = made->verify(buffer);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->write, Answer::No);
  EXPECT_STREQ(report->writeError.codeName, "RegistrarThrew");
}

TEST(RegistrarVerify, OneDirectionIsEnoughWhereThePeerHasNoOther) {
  FakeSdk sdk;
  Registrar registrar = moving(sdk);
  registrar.read = nullptr;
  registrar.verify = VerifyOptions{.bytes = 64};
  const auto made = PeerRegistration::make(makeBuffer(), registrar);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->proof().written, Answer::Yes);
  EXPECT_EQ(made->proof().read, Answer::Unknown);
}

TEST(RegistrarVerify, WithoutTransfersNothingIsTouchedAndNothingProven) {
  FakeSdk sdk;
  const RdmaGpuBuffer buffer = makeBuffer();
  ASSERT_TRUE(buffer.poison(0, 5));
  const auto before = buffer.checksum(0, 131072);
  auto made = PeerRegistration::make(buffer, sdk.registrar());
  ASSERT_TRUE(made);
  const auto report = made->verify(buffer);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->write, Answer::Unknown);
  EXPECT_EQ(report->read, Answer::Unknown);
  EXPECT_STREQ(report->writeError.codeName, "PeerTransferMissing");
  EXPECT_STREQ(report->readError.codeName, "PeerTransferMissing");
  EXPECT_EQ(report->proof.registered, Answer::Yes);
  EXPECT_EQ(*buffer.checksum(0, 131072), *before);
  Registrar registrar = sdk.registrar();
  registrar.verify = VerifyOptions{};
  const auto unproven = PeerRegistration::make(buffer, registrar);
  ASSERT_FALSE(unproven);
  EXPECT_STREQ(unproven.error().codeName, "PeerTransferMissing");
}

TEST(RegistrarVerify, OnlyItsOwnBuffersSlots) {
  FakeSdk sdk;
  const RdmaGpuBuffer buffer = makeBuffer();
  auto made = PeerRegistration::make(buffer, moving(sdk));
  ASSERT_TRUE(made);
  const auto other = made->verify(makeBuffer());
  ASSERT_FALSE(other);
  EXPECT_STREQ(other.error().codeName, "PeerNotPinned");
  EXPECT_FALSE(made->verify(RdmaGpuBuffer{}));
  const auto tooMuch = made->verify(buffer, {.bytes = 1U << 20});
  ASSERT_FALSE(tooMuch);
  EXPECT_STREQ(tooMuch.error().codeName, "RangeOutOfSlot");
}

TEST(RegistrarVerify, WhereAPathMayFailOverBothSetsAreProven) {
  FakeSdk sdk;
  auto staged = StagedBuffer::make({.buffer = {.api = RdmaGpuApi::HostFallback,
                                               .slotCount = 2,
                                               .frameBytes = frameBytes,
                                               .host = {.lock = PageLock::Off}},
                                    .path = SlotPath::Direct,
                                    .sliceBytes = 8192,
                                    .proof = FrameProofConfig{.onFault = FaultPolicy::FailOver}});
  ASSERT_TRUE(staged);
  auto made = PeerRegistration::make(*staged, moving(sdk));
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->verify(staged->applicationBuffer(), {.bytes = 64}));
  EXPECT_EQ(made->proof().written, Answer::Unknown); // of those in reserve nobody knows
  ASSERT_TRUE(made->verify(staged->peerBuffer(), {.bytes = 64}));
  EXPECT_EQ(made->proof().written, Answer::Yes);
  Registrar registrar = moving(sdk);
  registrar.verify = VerifyOptions{.bytes = 64};
  const auto proven = PeerRegistration::make(*staged, registrar);
  ASSERT_TRUE(proven);
  EXPECT_EQ(proven->proof().read, Answer::Yes);
  registrar.write = [first = addressBits(staged->peerBuffer().handoff(0))](
                        const PinnedSlot& slot, std::span<const std::byte> bytes) -> Result<void> {
    return addressBits(slot.handoff) == first ? Result<void>{} : writeSlot(slot, bytes);
  };
  EXPECT_FALSE(PeerRegistration::make(*staged, registrar));
}

} // namespace
} // namespace rdmagpu::peers
