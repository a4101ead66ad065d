#include <contract/allocation_faults.hpp>
#include <contract/cuda_driver.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/cuda_completions.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/staged_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <optional>

namespace rdmagpu::test {
namespace {

class CudaAllocation : public OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    if(standin)
      leaveAllocationsAlone(standin->isInside());
  }
  void TearDown() override {
    failAllocation(0);
    leaveAllocationsAlone(nullptr);
    m_buffer.reset();
    OnCudaStandin::TearDown();
  }

  template <class Attempt>
  void survivesEachFailure(Attempt attempt) {
    // What a buffer makes at its first use, and keeps, is not what the attempt leaves behind.
    ASSERT_TRUE(attempt());
    everyAllocationFailsOnce(
        [&] {
          backend::cuda::forgetGpus();
          return attempt();
        },
        [&] { return standin->ledger(); });
  }

  const RdmaGpuBuffer& buffer() {
    if(!m_buffer) {
      auto made = RdmaGpuBuffer::make(cudaConfig());
      EXPECT_TRUE(made) << made.error().message();
      m_buffer.emplace(*std::move(made));
    }
    return *m_buffer;
  }

private:
  std::optional<RdmaGpuBuffer> m_buffer;
};

TEST_F(CudaAllocation, MakeSurvivesEachFailure) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    auto config = cudaConfig(memory);
    config.zeroFill = true;
    survivesEachFailure([&] { return RdmaGpuBuffer::make(config); });
  }
}

TEST_F(CudaAllocation, MakeOfEitherKindSurvivesEachFailure) {
  auto config = cudaConfig();
  config.rdma = GpuRdma::Try;
  for(const char* machine : {"flag-ignored", "unreachable"}) {
    standin->profile(machine);
    survivesEachFailure([&] { return RdmaGpuBuffer::make(config); });
  }
}

TEST_F(CudaAllocation, MakeByPciAddressSurvivesEachFailure) {
  auto config = cudaConfig();
  config.gpu.pci = PciAddress{.bus = 0x3C};
  survivesEachFailure([&] { return RdmaGpuBuffer::make(config); });
}

TEST_F(CudaAllocation, MakeOfPinnedHostMemorySurvivesEachFailure) {
  auto config = cudaConfig();
  config.api = RdmaGpuApi::HostFallback;
  config.host.gpuPin = GpuPin::Require;
  survivesEachFailure([&] { return RdmaGpuBuffer::make(config); });
}

TEST_F(CudaAllocation, MaxSlotsSurvivesEachFailure) {
  survivesEachFailure([&] { return RdmaGpuBuffer::maxSlots(cudaConfig()); });
}

TEST_F(CudaAllocation, CopyQueueSurvivesEachFailure) {
  survivesEachFailure([&] { return CopyQueue::make(buffer()); });
}

TEST_F(CudaAllocation, StagedBufferSurvivesEachFailure) {
  StagedBufferConfig config{.buffer = cudaConfig(), .companionBytes = 1000};
  for(const SlotPath path : {SlotPath::Direct, SlotPath::Staged}) {
    config.path = path;
    survivesEachFailure([&] { return StagedBuffer::make(config); });
  }
}

TEST_F(CudaAllocation, CudaCompletionsSurviveEachFailure) {
  survivesEachFailure([] { return CudaCompletions::make(4); });
}

TEST_F(CudaAllocation, AttachSurvivesEachFailure) {
  const auto shared = buffer().share();
  ASSERT_TRUE(shared);
  int ends[2]{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  survivesEachFailure([&]() -> Result<RdmaGpuBuffer> {
    if(const auto sent = shared->send(ends[0]); !sent)
      return sent.error();
    return RdmaGpuBuffer::attach(ends[1]);
  });
  close(ends[0]);
  close(ends[1]);
}

TEST_F(CudaAllocation, GrantAccessByPciAddressSurvivesEachFailure) {
  GpuSelector second;
  second.pci = PciAddress{.bus = 0x3C};
  survivesEachFailure([&] { return buffer().grantAccess(second); });
}

TEST_F(CudaAllocation, WhatIsDoneWithABufferAllocatesNothing) {
  const RdmaGpuBuffer& slots = buffer();
  std::array<std::byte, 100> bytes{};
  failAllocation(1);
  EXPECT_TRUE(slots.exportRegion());
  EXPECT_TRUE(slots.exportSlot(3));
  EXPECT_TRUE(slots.share());
  EXPECT_TRUE(slots.upload(0, bytes));
  EXPECT_TRUE(slots.download(0, bytes));
  EXPECT_TRUE(slots.checksum(0, 100));
  EXPECT_TRUE(slots.poison(0, 100));
  EXPECT_TRUE(slots.clear(0));
  EXPECT_TRUE(slots.flushPeerWrites());
  EXPECT_FALSE(allocationFailed()) << "there was one";
  failAllocation(0);
}

TEST_F(CudaAllocation, CopiesAllocateNothing) {
  auto queue = CopyQueue::make(buffer(), {.depth = 2});
  ASSERT_TRUE(queue);
  std::array<std::byte, 100> bytes{};
  failAllocation(1);
  for(std::size_t i = 0; i < 10; ++i) {
    const auto up = queue->upload(i % 4, bytes);
    const auto down = queue->download(i % 4, bytes);
    ASSERT_TRUE(up && up->wait() && down && down->wait());
  }
  EXPECT_TRUE(queue->finish());
  EXPECT_FALSE(allocationFailed()) << "there was one";
  failAllocation(0);
}

TEST_F(CudaAllocation, InspectSurvivesEachFailure) {
  survivesEachFailure([&] { return inspect(buffer().slot(0).gpuVA, 1000); });
}

TEST_F(CudaAllocation, VerifySurvivesEachFailure) {
  survivesEachFailure([&] { return verify(buffer()); });
}

TEST_F(CudaAllocation, ProvenFramesAllocateNothing) {
  StagedBufferConfig config{.buffer = cudaConfig(), .path = SlotPath::Direct};
  config.proof.emplace();
  auto staged = StagedBuffer::make(config);
  ASSERT_TRUE(staged) << staged.error().message();
  SlotRing& ring = staged->ring();
  const auto frame = [&] {
    std::uint32_t slot{};
    RingFrame taken;
    return ring.tryAcquire(slot) == RingStatus::Ok && ring.publish(slot, 0, 100'001) == RingStatus::Ok &&
           ring.tryTake(taken) == RingStatus::Ok && ring.release(taken.slot) == RingStatus::Ok;
  };
  ASSERT_TRUE(frame()); // which logs a fault
  failAllocation(1);
  bool passed = true;
  for(int n = 0; n < 20; ++n)
    passed &= frame();
  const bool allocated = allocationFailed();
  failAllocation(0);
  EXPECT_TRUE(passed);
  EXPECT_FALSE(allocated);
  EXPECT_EQ(staged->proofCounters()->checked, 21U);
}

} // namespace
} // namespace rdmagpu::test
