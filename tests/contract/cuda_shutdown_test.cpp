#include <contract/cuda_driver.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/inspect.hpp>
#include <support/log_capture.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace rdmagpu::test {
namespace {

/// A driver that vanishes, as it does when a process ends while buffers still exist.
class CudaShutdown : public OnCudaStandin {
protected:
  void TearDown() override {
    if(standin)
      standin->shutDownAfter(0);
    OnCudaStandin::TearDown();
  }

  static void expectLost(const Error& error) {
    EXPECT_EQ(error.kind, Errc::Lost) << error.message();
    EXPECT_STREQ(error.codeName, "CUDA_ERROR_DEINITIALIZED");
    EXPECT_STREQ(error.finding, "driver-shut-down");
    EXPECT_FALSE(error.hints().empty());
  }

  /// All that a buffer can do, until something fails.
  static Result<void> useAll(CudaMemory memory) {
    auto config = cudaConfig(memory);
    config.zeroFill = true;
    config.scrubOnDestroy = true;
    const auto buffer = RdmaGpuBuffer::make(config);
    if(!buffer)
      return buffer.error();
    std::array<std::byte, 1000> bytes{};
    if(const auto up = buffer->upload(1, bytes); !up)
      return up;
    if(const auto down = buffer->download(1, bytes); !down)
      return down;
    if(const auto flushed = buffer->flushPeerWrites(); !flushed)
      return flushed;
    if(const auto poisoned = buffer->poison(1, 1); !poisoned)
      return poisoned;
    if(const auto sum = buffer->checksum(1, 1000); !sum)
      return sum.error();
    if(const auto cleared = buffer->clear(1); !cleared)
      return cleared;
    const auto exported = buffer->exportRegion();
    return exported ? Result<void>{} : exported.error();
  }
};

TEST_F(CudaShutdown, AtAnyCallIsALostDriverAndLeavesNothing) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    bool gone = true;
    for(int n = 1; gone; ++n) {
      standin->shutDownAfter(n);
      const auto outcome = useAll(memory);
      gone = standin->isShutDown();
      EXPECT_EQ(standin->ledger(), "");
      if(!outcome)
        expectLost(outcome.error());
      standin->shutDownAfter(0);
    }
    EXPECT_TRUE(useAll(memory)) << "it is up again";
  }
}

TEST_F(CudaShutdown, AfterwardsABufferOnlyGoes) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    const LogCapture log;
    {
      const auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
      ASSERT_TRUE(buffer);
      const auto exported = buffer->exportRegion();
      ASSERT_TRUE(exported);
      standin->shutDownAfter(1);
      std::array<std::byte, 100> bytes{};
      expectLost(buffer->upload(0, bytes).error());
      expectLost(buffer->download(0, bytes).error());
      expectLost(buffer->exportSlot(0).error());
      EXPECT_TRUE(buffer->exportRegion()) << "from the descriptor that is there";
    }
    EXPECT_TRUE(log.errors().empty()) << "the driver has freed it: no failure";
    standin->shutDownAfter(0);
  }
}

TEST_F(CudaShutdown, NothingIsMadeAnyMoreAndTheListSaysWhy) {
  standin->shutDownAfter(1);
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_FALSE(buffer);
  expectLost(buffer.error());
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  const auto host = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->backend(), RdmaGpuApi::HostFallback);
  ASSERT_FALSE(host->selection().empty());
  expectLost(host->selection().front().error);
  for(const BackendInfo& info : backends()) {
    if(info.api == RdmaGpuApi::Cuda)
      expectLost(info.reason);
  }
}

TEST_F(CudaShutdown, WhatWasTheGpusIsLostToInspectToo) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    {
      const auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
      ASSERT_TRUE(buffer);
      ASSERT_TRUE(inspect(buffer->slot(0).gpuVA, 100));
      standin->shutDownAfter(1);
      const auto gone = inspect(buffer->slot(0).gpuVA, 100);
      ASSERT_FALSE(gone);
      expectLost(gone.error());
    }
    const int local = 0;
    const auto host = inspect(&local, sizeof local);
    ASSERT_TRUE(host) << host.error().message();
    EXPECT_EQ(host->kind, MemoryKind::Private) << "which the kernel tells";
    standin->shutDownAfter(0);
  }
}

} // namespace
} // namespace rdmagpu::test
