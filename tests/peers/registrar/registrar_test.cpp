#include "registrar_fixture.hpp"

#include <core/buffer_state.hpp>
#include <core/fake_device.hpp>
#include <support/log_capture.hpp>
#include <support/sanitizer.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <new>

namespace rdmagpu::peers {
namespace {

const std::vector<std::string> undone{"pin 0", "pin 1", "pin 2", "quiesce", "unpin 2", "unpin 1", "unpin 0"};

TEST(Registrar, EachSlotIsPinnedAndUnpinnedAfterThePeerIsQuiet) {
  FakeSdk sdk;
  const RdmaGpuBuffer buffer = makeBuffer();
  auto made = PeerRegistration::make(buffer, sdk.registrar());
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_TRUE(made->valid());
  ASSERT_EQ(made->slotCount(), 3U);
  for(std::uint32_t i = 0; i < 3; ++i) {
    const PinnedSlot slot = made->slot(i);
    EXPECT_EQ(slot.slot, i);
    EXPECT_EQ(slot.key, 100 + i);
    EXPECT_EQ(slot.offset, 0U);
    EXPECT_EQ(slot.bytes, 131072U);
    EXPECT_EQ(addressBits(slot.handoff), addressBits(buffer.handoff(i)));
    EXPECT_EQ(addressBits(sdk.pinned[i].handoff), addressBits(buffer.handoff(i)));
    EXPECT_EQ(sdk.pinned[i].bytes, 131072U);
    EXPECT_EQ(sdk.pinned[i].slotCount, 1U);
    EXPECT_EQ(sdk.pinned[i].dmaBuf, -1);
    EXPECT_EQ(made->slot(buffer.handoff(i)).slot, i);
  }
  EXPECT_EQ(made->slot(3).bytes, 0U);
  EXPECT_EQ(made->slot(HostPointer{&sdk}).bytes, 0U);
  EXPECT_EQ(made->slot(Handoff{}).bytes, 0U);
  EXPECT_TRUE(made->release());
  EXPECT_EQ(sdk.calls, undone);
  EXPECT_TRUE(made->release()); // of nothing
  EXPECT_EQ(sdk.calls, undone);
  EXPECT_FALSE(made->valid());
  EXPECT_EQ(made->slotCount(), 0U);
  EXPECT_EQ(made->proof().registered, Answer::Unknown);
}

TEST(Registrar, ARegionIsPinnedInOnePiece) {
  FakeSdk sdk;
  const RdmaGpuBuffer buffer = makeBuffer();
  {
    const auto made = PeerRegistration::make(buffer, sdk.registrar(PinUnit::Region));
    ASSERT_TRUE(made);
    ASSERT_EQ(made->slotCount(), 3U);
    EXPECT_EQ(made->slot(2).key, 100U);
    EXPECT_EQ(made->slot(2).offset, 2U * 131072);
    ASSERT_EQ(sdk.pinned.size(), 1U);
    EXPECT_EQ(sdk.pinned[0].bytes, 3U * 131072);
    EXPECT_EQ(sdk.pinned[0].slotCount, 3U);
    EXPECT_EQ(addressBits(sdk.pinned[0].handoff), addressBits(buffer.handoff(0)));
  }
  EXPECT_THAT(sdk.calls, ElementsAre("pin 0", "quiesce", "unpin 0"));
}

TEST(Registrar, SlotsOfSeveralRegionsAreNotOnePiece) {
  test::FakeDevice device;
  auto state = core::buildOn("make", RdmaGpuApi::Vulkan, device, {.slotCount = 3, .frameBytes = frameBytes});
  ASSERT_TRUE(state);
  const RdmaGpuBuffer buffer = core::BufferAccess::make(*std::move(state));
  FakeSdk sdk;
  const auto refused = PeerRegistration::make(buffer, sdk.registrar(PinUnit::Region));
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "PeerRegionsApart");
  EXPECT_TRUE(PeerRegistration::make(buffer, sdk.registrar()));
  EXPECT_EQ(sdk.calls, undone);
}

TEST(Registrar, TheMemoryIsThereUntilItIsUnpinned) {
  FakeSdk sdk;
  RdmaGpuBuffer buffer = makeBuffer();
  Registrar registrar = sdk.registrar();
  registrar.unpin = [](const PinView& view, std::uint64_t) -> Result<void> {
    std::memset(cpuAddress(view.handoff), 1, view.bytes); // the last bytes of a card
    return {};
  };
  auto made = PeerRegistration::make(buffer, registrar);
  ASSERT_TRUE(made);
  buffer.destroy();
  std::memset(cpuAddress(made->slot(1).handoff), 2, frameBytes);
  EXPECT_TRUE(made->release());
}

TEST(Registrar, ARefusedSlotUndoesThoseBeforeIt) {
  FakeSdk sdk;
  sdk.refusePin = 2;
  const RdmaGpuBuffer buffer = makeBuffer();
  const auto made = PeerRegistration::make(buffer, sdk.registrar());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "FakePin failed: FAKE_FULL (17); asked 131072; slot 2");
  EXPECT_EQ(made.error().kind, Errc::OutOfMemory);
  EXPECT_EQ(made.error().origin, Origin::Peer);
  EXPECT_THAT(sdk.calls, ElementsAre("pin 0", "pin 1", "quiesce", "unpin 1", "unpin 0"));
}

TEST(Registrar, ThePeerIsNotDisturbedWhenNothingWasPinned) {
  FakeSdk sdk;
  sdk.refusePin = 0;
  const auto made = PeerRegistration::make(makeBuffer(), sdk.registrar(PinUnit::Region));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().slot, -1); // it was no slot that was refused
  EXPECT_THAT(sdk.calls, IsEmpty());
}

TEST(Registrar, ARefusalWithoutAnErrorIsOne) {
  FakeSdk sdk;
  Registrar registrar = sdk.registrar();
  registrar.pin = [](const PinView&) -> Result<std::uint64_t> { return Error{}; };
  const auto made = PeerRegistration::make(makeBuffer(), registrar);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, Errc::Internal);
  EXPECT_STREQ(made.error().call, "Registrar::pin");
}

TEST(Registrar, WithoutPinOrUnpinThereIsNone) {
  FakeSdk sdk;
  for(const bool pin : {true, false}) {
    Registrar registrar = sdk.registrar();
    if(pin)
      registrar.pin = nullptr;
    else
      registrar.unpin = nullptr;
    const auto made = PeerRegistration::make(makeBuffer(), registrar);
    ASSERT_FALSE(made);
    EXPECT_STREQ(made.error().codeName, "RegistrarIncomplete");
  }
}

TEST(Registrar, ABufferWithoutSlotsIsRefused) {
  FakeSdk sdk;
  const auto made = PeerRegistration::make(RdmaGpuBuffer{}, sdk.registrar());
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().codeName, "BufferEmpty");
}

TEST(Registrar, WhatItThrowsIsAnError) {
  FakeSdk sdk;
  sdk.explode = [] { throw std::runtime_error{"a card on fire"}; };
  const RdmaGpuBuffer buffer = makeBuffer();
  const auto threw = PeerRegistration::make(buffer, sdk.registrar());
  ASSERT_FALSE(threw);
  EXPECT_STREQ(threw.error().codeName, "RegistrarThrew");
  EXPECT_EQ(threw.error().slot, 0);
  sdk.explode = [] { throw std::bad_alloc{}; };
  const auto full = PeerRegistration::make(buffer, sdk.registrar());
  ASSERT_FALSE(full);
  EXPECT_STREQ(full.error().codeName, "OutOfMemory");
  EXPECT_STREQ(full.error().call, "Registrar::pin");
}

TEST(Registrar, ReleaseGoesOnAfterAnExceptionAndMayBeTriedAgain) {
  FakeSdk sdk;
  Registrar registrar = sdk.registrar();
  registrar.unpin = [&](const PinView& view, std::uint64_t) -> Result<void> {
    sdk.calls.push_back("unpin " + std::to_string(view.slot));
    if(view.slot == 1 && std::exchange(sdk.refuseUnpin, 0))
      throw 7;
    return {};
  };
  sdk.refuseUnpin = 1;
  const RdmaGpuBuffer buffer = makeBuffer();
  auto made = PeerRegistration::make(buffer, registrar);
  ASSERT_TRUE(made);
  const auto released = made->release();
  ASSERT_FALSE(released);
  EXPECT_STREQ(released.error().codeName, "RegistrarThrew");
  EXPECT_EQ(released.error().slot, 1);
  EXPECT_TRUE(made->valid());
  EXPECT_EQ(made->slot(0).bytes, 0U); // unpinned
  EXPECT_EQ(made->slot(1).bytes, 131072U);
  const auto proof = made->verify(buffer);
  ASSERT_FALSE(proof);
  EXPECT_STREQ(proof.error().codeName, "PeerNotPinned");
  EXPECT_TRUE(made->release());
  EXPECT_THAT(sdk.calls, ElementsAre("pin 0", "pin 1", "pin 2", "quiesce", "unpin 2", "unpin 1", "unpin 0",
                                     "quiesce", "unpin 1"));
}

TEST(Registrar, NothingIsUnpinnedUnderAPeerThatIsNotQuiet) {
  FakeSdk sdk;
  auto made = PeerRegistration::make(makeBuffer(), sdk.registrar());
  ASSERT_TRUE(made);
  sdk.refuseQuiesce = 1;
  const auto released = made->release();
  ASSERT_FALSE(released);
  EXPECT_STREQ(released.error().call, "FakeQuiesce");
  EXPECT_EQ(released.error().kind, Errc::Busy);
  EXPECT_EQ(made->slotCount(), 3U);
  EXPECT_TRUE(made->release());
  EXPECT_EQ(sdk.calls, undone);
}

TEST(Registrar, WithoutQuiesceTheCallerSeesToThat) {
  FakeSdk sdk;
  Registrar registrar = sdk.registrar();
  registrar.quiesce = nullptr;
  EXPECT_TRUE(PeerRegistration::make(makeBuffer(1), registrar));
  EXPECT_THAT(sdk.calls, ElementsAre("pin 0", "unpin 0"));
}

TEST(Registrar, WhatThePeerDoesNotLetGoOfIsKeptForGood) {
  if(test::addressSanitizer || test::onValgrind())
    GTEST_SKIP() << "memory is lost on purpose";
  const test::LogCapture log;
  FakeSdk sdk;
  void* kept{};
  {
    const auto made = PeerRegistration::make(makeBuffer(), sdk.registrar());
    ASSERT_TRUE(made);
    kept = cpuAddress(made->slot(2).handoff);
    sdk.refuseUnpin = 1; // of slot 2, the first to go
  }
  std::memset(kept, 1, frameBytes);
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "FakeUnpin");
  EXPECT_EQ(log.errors().front().slot, 2);
  EXPECT_THAT(sdk.calls, ElementsAre("pin 0", "pin 1", "pin 2", "quiesce", "unpin 1", "unpin 0"));
}

TEST(Registrar, MovesAndLetsGoOnce) {
  FakeSdk first;
  FakeSdk second;
  const RdmaGpuBuffer buffer = makeBuffer();
  auto a = PeerRegistration::make(buffer, first.registrar());
  auto b = PeerRegistration::make(buffer, second.registrar());
  ASSERT_TRUE(a && b);
  PeerRegistration moved{*std::move(a)};
  EXPECT_FALSE(a->valid());
  EXPECT_TRUE(a->release());
  EXPECT_FALSE(a->verify(buffer));
  EXPECT_THAT(first.calls, ElementsAre("pin 0", "pin 1", "pin 2"));
  moved = *std::move(b);
  EXPECT_EQ(first.calls, undone);
  EXPECT_EQ(moved.slotCount(), 3U);
  PeerRegistration& itself = moved;
  moved = std::move(itself);
  EXPECT_EQ(moved.slotCount(), 3U);
  moved = {};
  EXPECT_EQ(second.calls, undone);
}

TEST(Registrar, AForkedChildCallsNothing) {
  FakeSdk sdk;
  auto made = PeerRegistration::make(makeBuffer(), sdk.registrar());
  ASSERT_TRUE(made);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if(child == 0) {
    const bool released = made->release().has_value();
    _exit(released && !made->valid() && sdk.calls.size() == 3 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(made->release());
  EXPECT_EQ(sdk.calls, undone);
}

StagedBuffer makeStaged(std::optional<FrameProofConfig> proof) {
  auto made = StagedBuffer::make({.buffer = {.api = RdmaGpuApi::HostFallback,
                                             .slotCount = 2,
                                             .frameBytes = frameBytes,
                                             .host = {.lock = PageLock::Off}},
                                  .path = proof ? SlotPath::Direct : SlotPath::Staged,
                                  .sliceBytes = 8192,
                                  .proof = proof});
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

TEST(Registrar, OfAStagedPathThePeersSlotsArePinned) {
  FakeSdk sdk;
  const StagedBuffer staged = makeStaged({});
  const auto made = PeerRegistration::make(staged, sdk.registrar());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->slotCount(), 2U);
  EXPECT_EQ(made->slot(staged.handoff(1)).slot, 1U);
  EXPECT_EQ(made->slot(staged.applicationBuffer().handoff(1)).bytes, 0U);
}

TEST(Registrar, WhereAPathMayFailOverBothSetsArePinned) {
  FakeSdk sdk;
  const StagedBuffer staged = makeStaged(FrameProofConfig{.onFault = FaultPolicy::FailOver});
  const auto made = PeerRegistration::make(staged, sdk.registrar());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->slotCount(), 4U);
  EXPECT_EQ(made->slot(staged.applicationBuffer().handoff(1)).slot, 1U);
  EXPECT_EQ(made->slot(staged.peerBuffer().handoff(1)).slot, 1U);
  EXPECT_EQ(addressBits(made->slot(3).handoff), addressBits(staged.peerBuffer().handoff(1)));
  FakeSdk refusing;
  refusing.refusePin = 3;
  EXPECT_FALSE(PeerRegistration::make(staged, refusing.registrar()));
  EXPECT_THAT(refusing.calls,
              ElementsAre("pin 0", "pin 1", "pin 0", "quiesce", "unpin 0", "unpin 1", "unpin 0"));
}

} // namespace
} // namespace rdmagpu::peers
