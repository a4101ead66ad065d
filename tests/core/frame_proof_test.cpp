#include <contract/frame_proof_contract.hpp>
#include <contract/proven_ring_contract.hpp>
#include <core/buffer_state.hpp>
#include <core/fake_device.hpp>

namespace rdmagpu::prooftest {
namespace {

const RdmaGpuBufferConfig host{.api = RdmaGpuApi::HostFallback, .host = {.lock = PageLock::Off}};

INSTANTIATE_TEST_SUITE_P(Host, FrameProofContract, testing::Values(host),
                         [](const auto&) { return "HostFallback"; });
INSTANTIATE_TEST_SUITE_P(Host, ProvenRing,
                         testing::Values(hostConfig(SlotPath::Direct), hostConfig(SlotPath::Staged)),
                         nameOfPath);

/// One line of a page: with one place looked at in each page it is found sooner or later.
TEST(FrameProof, SeedsLookAtDifferentPlaces) {
  int found = 0;
  constexpr int seeds = 400;
  for(std::uint64_t seed = 0; seed < seeds; ++seed) {
    Proven slots(host, usual, {.seed = seed});
    slots.proof->arm(0);
    slots.write(0, 0, 0, pageBytes + 512);
    slots.write(0, 0, pageBytes + 1024, usual);
    found += slots.check(0).fault == FrameFault::Torn ? 1 : 0;
  }
  EXPECT_GT(found, seeds / 16); // an eighth is to be expected
  EXPECT_LT(found, seeds / 4);
}

TEST(FrameProof, BadRequestsAreRefused) {
  const auto errorFor = [](const RdmaGpuBuffer& slots) {
    const auto proof = FrameProof::make(slots);
    EXPECT_FALSE(proof);
    return proof ? Error{} : proof.error();
  };
  expectCode(errorFor(RdmaGpuBuffer{}), LibraryCode::BufferEmpty);
  const Error small = errorFor(hostBuffer(1, 7));
  expectCode(small, LibraryCode::FrameTooSmallToProve);
  const auto unknown = FrameProof::make(hostBuffer(1, 4096), {.onFault = FaultPolicy{9}});
  ASSERT_FALSE(unknown);
  expectCode(unknown.error(), LibraryCode::ValueUnknown);
  EXPECT_EQ(small.bytes, 7U);
}

TEST(FrameProof, MemoryOfAnInterfaceThatCannotLookIntoItIsRefused) {
  test::FakeDevice device;
  auto state = core::buildOn("make", RdmaGpuApi::Vulkan, device, {.slotCount = 2, .frameBytes = usual});
  ASSERT_TRUE(state) << state.error().message();
  const RdmaGpuBuffer slots = core::BufferAccess::make(*std::move(state));
  const auto proof = FrameProof::make(slots);
  ASSERT_FALSE(proof);
  expectCode(proof.error(), LibraryCode::NotProvable);
}

TEST(FrameProof, NamesAreWhatTheProgramPrints) {
  EXPECT_STREQ(name(FrameFault::None), "none");
  EXPECT_STREQ(name(FrameFault::Stale), "stale");
  EXPECT_STREQ(name(FrameFault::Torn), "torn");
  EXPECT_STREQ(name(FrameFault::Late), "late");
  EXPECT_STREQ(name(FrameFault::WrongOffset), "wrong-offset");
  EXPECT_STREQ(name(FrameFault::Short), "short");
  EXPECT_STREQ(name(FrameFault::Unchecked), "unchecked");
  EXPECT_STREQ(name(static_cast<FrameFault>(99)), "?");
}

TEST(ProvenRingConfig, PeerThatTakesNoHostMemoryCannotFailOver) {
  StagedBufferConfig config = hostConfig({});
  config.buffer.accepts = {HandoffKind::CudaPointer};
  config.proof = FrameProofConfig{.onFault = FaultPolicy::FailOver};
  const auto refused = StagedBuffer::make(config);
  ASSERT_FALSE(refused);
  expectCode(refused.error(), LibraryCode::PeerCannotAddress);
}

TEST(ProvenRingConfig, RingAloneDropsWhereItCannotFailOver) {
  const RdmaGpuBuffer buffer = hostBuffer(2, frameBytes);
  auto proof = FrameProof::make(buffer, {.onFault = FaultPolicy::FailOver});
  ASSERT_TRUE(proof);
  SlotRing ring = *SlotRing::make({.slotCount = 2, .proof = &*proof});
  EXPECT_EQ(ring.publish(acquireNext(ring), 0, frameBytes), RingStatus::Ok);
  EXPECT_EQ(takeStatus(ring), RingStatus::Empty);
  EXPECT_EQ(ring.counters().drops, 1U);
}

TEST(ProvenRingConfig, PeerThatCannotAskForOtherMemoryEnds) {
  StagedBufferConfig config = hostConfig(SlotPath::Direct);
  config.proof = FrameProofConfig{.onFault = FaultPolicy::FailOver};
  StagedBuffer staged = makeStaged(config);
  SoftwarePeer peer =
      makePeer(staged.applicationBuffer(), {.misbehaviour = Misbehaviour::Tear, .misbehaveAt = 0});
  Frames source(3, frameBytes);
  ASSERT_TRUE(peer.startCapture(staged.ring(), source));
  peer.wait();
  expectCode(peer.counters().error, LibraryCode::PeerCannotAddress);
  EXPECT_EQ(takeStatus(staged.ring()), RingStatus::Closed);
}

TEST(ProvenRingConfig, WithoutAProofThereAreNoCounters) {
  EXPECT_FALSE(makeStaged(hostConfig(SlotPath::Direct)).proofCounters());
}

TEST(ProvenRingConfig, RingOfMoreSlotsThanItsProofIsRefused) {
  const RdmaGpuBuffer buffer = hostBuffer(2, usual);
  auto proof = FrameProof::make(buffer);
  ASSERT_TRUE(proof);
  const auto refused = SlotRing::make({.slotCount = 3, .proof = &*proof});
  ASSERT_FALSE(refused);
  expectCode(refused.error(), LibraryCode::RingLargerThanProof);
  EXPECT_EQ(refused.error().bytes, 3U);
  EXPECT_EQ(refused.error().available, 2U);
}

} // namespace
} // namespace rdmagpu::prooftest
