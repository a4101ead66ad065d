#include "v4l2_fixture.hpp"

#include <contract/cuda_driver.hpp>

#include <set>

namespace rdmagpu::v4l2test {
namespace {

/// Slots on the software CUDA device, whose dma-bufs have a size and no bytes.
class V4l2Gpu : public test::OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    reset();
  }
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_FALSE(isOpen());
  }
};

StagedBufferConfig gpuConfig(std::optional<SlotPath> path, SlotFlow flow = SlotFlow::Capture) {
  StagedBufferConfig config = hostConfig(flow);
  config.buffer.api = RdmaGpuApi::Cuda;
  config.path = path;
  return config;
}

V4l2Config anyMemory(SlotFlow flow = SlotFlow::Capture) {
  V4l2Config config = pointers(flow);
  config.memory = {};
  return config;
}

TEST_F(V4l2Gpu, SlotsOfAGpuGoAsDmaBufsEachWithItsOwn) {
  V4l2Peer peer = openPeer(anyMemory());
  ASSERT_TRUE(peer.start(gpuConfig({})));
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Direct);
  EXPECT_EQ(peer.memory(), V4l2Memory::DmaBuf);
  EXPECT_EQ(peer.fallback().kind, Errc::None);
  std::set<int> descriptors;
  for(const QueuedBuffer& buffer : queued()) {
    EXPECT_EQ(buffer.memory, static_cast<std::uint32_t>(V4L2_MEMORY_DMABUF));
    EXPECT_GE(buffer.length, frameBytes);
    descriptors.insert(buffer.fd);
  }
  EXPECT_EQ(descriptors.size(), 4U);
  ASSERT_TRUE(complete(0));
  RingFrame frame;
  ASSERT_EQ(peer.buffer()->ring().take(frame, ample), RingStatus::Ok);
  EXPECT_EQ(frame.bytes, frameBytes);
  peer.buffer()->ring().release(frame.slot);
}

TEST_F(V4l2Gpu, TheyAreSentAsDmaBufsToo) {
  reset({.capabilities = outputMany});
  V4l2Peer peer = openPeer(anyMemory(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(gpuConfig(SlotPath::Direct, SlotFlow::Playout)));
  play(*peer.buffer(), 0);
  peer.buffer()->ring().closeProducer();
  ASSERT_TRUE(complete());
  EXPECT_EQ(waitFor(peer).frames, 1U);
  EXPECT_EQ(queued().back().memory, static_cast<std::uint32_t>(V4L2_MEMORY_DMABUF));
  EXPECT_EQ(queued().back().bytes, frameBytes);
}

TEST_F(V4l2Gpu, ADriverWithoutDmaBufsGetsHostSlotsAndTheReasonIsTold) {
  reset({.takesDmaBufs = false});
  V4l2Peer peer = openPeer(anyMemory());
  ASSERT_TRUE(peer.start(gpuConfig({})));
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
  EXPECT_EQ(peer.memory(), V4l2Memory::UserPointer);
  EXPECT_STREQ(peer.fallback().call, "VIDIOC_REQBUFS (V4L2_MEMORY_DMABUF)");
  for(std::uint64_t n = 0; n < 6; ++n) {
    ASSERT_TRUE(complete(n));
    expectFrame(*peer.buffer(), n);
  }
}

TEST_F(V4l2Gpu, SoDoesOneThatCannotImportTheGpus) {
  V4l2Peer peer = openPeer(anyMemory());
  failCall(VIDIOC_PREPARE_BUF, EFAULT);
  ASSERT_TRUE(peer.start(gpuConfig({})));
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
  EXPECT_STREQ(peer.fallback().call, "VIDIOC_PREPARE_BUF (V4L2_MEMORY_DMABUF)");
  EXPECT_EQ(peer.fallback().slot, 0);
}

TEST_F(V4l2Gpu, SoDoesOneThatSaysSoWhenASlotIsQueued) {
  reset({.hasPrepare = false});
  V4l2Peer peer = openPeer(anyMemory());
  failCall(VIDIOC_QBUF, EINVAL);
  ASSERT_TRUE(peer.start(gpuConfig({})));
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
  EXPECT_STREQ(peer.fallback().call, "VIDIOC_QBUF (V4L2_MEMORY_DMABUF)");
}

TEST_F(V4l2Gpu, OnADirectPathTheRefusalIsAnErrorThatSaysWhatToDo) {
  reset({.takesDmaBufs = false});
  V4l2Peer peer = openPeer(anyMemory());
  const auto started = peer.start(gpuConfig(SlotPath::Direct));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, EINVAL);
  EXPECT_THAT(started.error().hints(), Not(IsEmpty()));
}

TEST_F(V4l2Gpu, PointersToAGpuAreRefused) {
  V4l2Peer peer = openPeer(pointers());
  EXPECT_STREQ(peer.start(gpuConfig(SlotPath::Direct)).error().codeName, "PeerCannotAddress");
  ASSERT_TRUE(peer.start(gpuConfig({})));
  EXPECT_EQ(peer.buffer()->path(), SlotPath::Staged);
}

TEST_F(V4l2Gpu, FramesThatArePlayedOutAreStagedToo) {
  reset({.capabilities = output, .takesDmaBufs = false});
  V4l2Peer peer = openPeer(anyMemory(SlotFlow::Playout));
  ASSERT_TRUE(peer.start(gpuConfig({}, SlotFlow::Playout)));
  for(std::uint64_t n = 0; n < 3; ++n)
    play(*peer.buffer(), n);
  peer.buffer()->ring().closeProducer();
  for(int i = 0; i < 3; ++i)
    ASSERT_TRUE(complete());
  EXPECT_EQ(waitFor(peer).frames, 3U);
  for(std::uint64_t n = 0; n < 3; ++n)
    EXPECT_EQ(sent()[n], frameOf(n, frameBytes));
}

TEST_F(V4l2Gpu, ProofFindsADmaBufThatNothingIsWrittenTo) {
  StagedBufferConfig config = gpuConfig(SlotPath::Direct);
  config.proof = FrameProofConfig{.onFault = FaultPolicy::Drop};
  V4l2Peer peer = openPeer(anyMemory());
  ASSERT_TRUE(peer.start(config));
  ASSERT_TRUE(complete(0));
  RingFrame frame;
  while(peer.buffer()->ring().counters().drops == 0)
    EXPECT_NE(peer.buffer()->ring().tryTake(frame), RingStatus::Ok);
  EXPECT_TRUE(awaitQueued(4)); // its slot is used again
  peer.stop();
  EXPECT_EQ(peer.buffer()->proofCounters()->stale, 1U);
}

} // namespace
} // namespace rdmagpu::v4l2test
