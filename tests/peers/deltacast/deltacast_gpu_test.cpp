#include "deltacast_fixture.hpp"

#include <contract/cuda_driver.hpp>

namespace rdmagpu::vhdtest {
namespace {

/// Slots on the software CUDA device.
class DeltacastGpu : public test::OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    reset();
  }
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_EQ(liveSlots(), 0U);
    EXPECT_EQ(openStreams(), 0U);
  }
};

StagedBufferConfig gpuConfig(std::optional<SlotPath> path, SlotFlow flow = SlotFlow::Capture) {
  StagedBufferConfig config = hostConfig(SlotPath::Direct, flow);
  config.buffer.api = RdmaGpuApi::Cuda;
  config.path = path;
  return config;
}

TEST_F(DeltacastGpu, CardWritesToTheGpuWithRdma) {
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.start(gpuConfig({})));
  StagedBuffer& staged = *peer.buffer();
  EXPECT_EQ(staged.path(), SlotPath::Direct);
  const auto descriptors = lastDescriptors();
  EXPECT_TRUE(descriptors[VHD_SDI_BT_VIDEO].RDMAEnabled);
  EXPECT_FALSE(descriptors[0].RDMAEnabled);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(descriptors[VHD_SDI_BT_VIDEO].pBuffer),
            addressBits(staged.handoff(3)));
  expectFrames(staged, 10);
  EXPECT_EQ(peer.fallback().kind, Errc::None);
}

TEST_F(DeltacastGpu, CardReadsFromTheGpuWithRdma) {
  DeltacastPeer peer = makePeer(VHD_ST_TX0);
  ASSERT_TRUE(peer.start(gpuConfig(SlotPath::Direct, SlotFlow::Playout)));
  for(std::uint64_t n = 0; n < 10; ++n)
    play(*peer.buffer(), n);
  peer.buffer()->ring().closeProducer();
  peer.wait();
  ASSERT_EQ(sent().size(), 10U);
  EXPECT_EQ(numberOf(sent()[9]), 9U);
  EXPECT_TRUE(lastDescriptors()[VHD_SDI_BT_VIDEO].RDMAEnabled);
}

TEST_F(DeltacastGpu, ThroughHostSlotsItNeedsNoRdma) {
  reset({.takesRdma = false});
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  StagedBufferConfig config = gpuConfig(SlotPath::Staged);
  config.proof = FrameProofConfig{};
  ASSERT_TRUE(peer.start(config));
  EXPECT_FALSE(lastDescriptors()[VHD_SDI_BT_VIDEO].RDMAEnabled);
  expectFrames(*peer.buffer(), 10);
  EXPECT_EQ(peer.buffer()->proofCounters()->faults(), 0U);
}

TEST_F(DeltacastGpu, RefusedRdmaIsAnErrorThatSaysWhatToDo) {
  reset({.takesRdma = false});
  StagedBufferConfig config = gpuConfig(SlotPath::Direct);
  config.buffer.accepts = DeltacastPeer::accepts();
  StagedBuffer staged = makeStaged(config);
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  const auto started = peer.startCapture(staged);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message(), "VHD_CreateSlotEx (RDMAEnabled) failed: VHDERR_OPERATIONFAILED (2); "
                                       "asked 100000; slot 0");
  ASSERT_FALSE(started.error().hints().empty());
  EXPECT_THAT(started.error().hints().front(), testing::HasSubstr("SlotPath::Staged"));
  EXPECT_EQ(liveSlots(), 0U);
  EXPECT_FALSE(peer.start(gpuConfig(SlotPath::Direct))); // it was to be direct
  EXPECT_EQ(peer.buffer(), nullptr);
}

TEST_F(DeltacastGpu, FallsBackToHostSlotsWhereThePathIsLeftOpen) {
  for(const SlotFlow flow : {SlotFlow::Capture, SlotFlow::Playout}) {
    reset({.takesRdma = false});
    DeltacastPeer peer = makePeer(flow == SlotFlow::Capture ? VHD_ST_RX0 : VHD_ST_TX0);
    const auto started = peer.start(gpuConfig({}, flow));
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
    EXPECT_EQ(peer.buffer()->applicationBuffer().backend(), RdmaGpuApi::Cuda);
    EXPECT_STREQ(peer.fallback().call, "VHD_CreateSlotEx (RDMAEnabled)");
    if(flow == SlotFlow::Capture)
      expectFrames(*peer.buffer(), 5);
    else
      play(*peer.buffer(), 0);
  }
}

TEST_F(DeltacastGpu, ARefusalOfASlotThatIsNotRdmasIsNoReasonToFallBack) {
  failCall("VHD_StartStream", VHDERR_BADINPUTSIGNAL);
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  const auto started = peer.start(gpuConfig({}));
  ASSERT_FALSE(started);
  EXPECT_STREQ(started.error().codeName, "VHDERR_BADINPUTSIGNAL");
  EXPECT_EQ(started.error().kind, Errc::Busy);
  EXPECT_EQ(peer.fallback().kind, Errc::None);
}

TEST_F(DeltacastGpu, WhatHasToBeFlushedIsFlushedBeforeItIsPublished) {
  standin->profile("unordered");
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.start(gpuConfig(SlotPath::Direct)));
  expectFrames(*peer.buffer(), 5);
  peer.stop();
  EXPECT_GE(standin->calls("cuFlushGPUDirectRDMAWrites"), 5);
}

TEST_F(DeltacastGpu, WhatAnotherGpuReadsIsFlushedForIt) {
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.start(gpuConfig(SlotPath::Direct)));
  const GpuSelector other{.ordinal = 1, .pci = {}, .uuid = {}, .luid = {}};
  ASSERT_TRUE(peer.buffer()->applicationBuffer().grantAccess(other));
  expectFrames(*peer.buffer(), 20); // more than there are slots
  peer.stop();
  EXPECT_EQ(standin->flushedTo(), test::api::FlushScope::ToAllDevices);
}

TEST_F(DeltacastGpu, AFlushThatFailsEndsTheStream) {
  standin->profile("unordered");
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.start(gpuConfig(SlotPath::Direct)));
  expectFrames(*peer.buffer(), 2);
  standin->failNamed("cuFlushGPUDirectRDMAWrites", test::api::Status::InvalidValue);
  RingFrame frame;
  while(peer.buffer()->ring().take(frame, ample) == RingStatus::Ok)
    peer.buffer()->ring().release(frame.slot);
  peer.wait();
  EXPECT_STREQ(peer.counters().error.call, "cuFlushGPUDirectRDMAWrites");
}

TEST_F(DeltacastGpu, MemoryThatTheSdkDoesNotTakeIsRefused) {
  StagedBufferConfig config = gpuConfig({});
  config.buffer.accepts = {HandoffKind::HostPointer};
  DeltacastPeer peer = makePeer(VHD_ST_RX0);
  ASSERT_TRUE(peer.start(config)); // what was set stays: it is staged
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
}

} // namespace
} // namespace rdmagpu::vhdtest
