#include <contract/cuda_driver.hpp>
#include <contract/fault.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/inspect.hpp>
#include <support/log_capture.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace rdmagpu::test {
namespace {

class CudaFault : public OnCudaStandin {
protected:
  /// Runs `use` on a fresh buffer and collects all that was survived.
  template <class Use>
  static Outcome withBuffer(const RdmaGpuBufferConfig& config, Use use) {
    const LogCapture log;
    Outcome outcome;
    {
      const auto buffer = RdmaGpuBuffer::make(config);
      if(buffer) {
        outcome.survived = survivedBy(buffer->facts());
        outcome.result = use(*buffer);
      } else {
        outcome.result = buffer.error();
      }
    }
    const auto logged = log.errors();
    outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
    return outcome;
  }

  static RdmaGpuBufferConfig clearing(CudaMemory memory) {
    auto config = cudaConfig(memory);
    config.zeroFill = true;
    config.scrubOnDestroy = true;
    return config;
  }
};

Result<void> none(const RdmaGpuBuffer&) { return {}; }

Result<void> copyAndFlush(const RdmaGpuBuffer& buffer) {
  std::array<std::byte, 1000> bytes{};
  if(const auto up = buffer.upload(1, bytes); !up)
    return up;
  if(const auto down = buffer.download(3, bytes); !down)
    return down;
  return buffer.flushPeerWrites();
}

Result<void> poisonAndCheck(const RdmaGpuBuffer& buffer) {
  if(const auto poisoned = buffer.poison(1, 7); !poisoned)
    return poisoned;
  if(const auto sum = buffer.checksum(1, 1001, 3); !sum)
    return sum.error();
  return buffer.clear(1);
}

Result<void> exportBoth(const RdmaGpuBuffer& buffer) {
  const auto region = buffer.exportRegion();
  if(!region)
    return region.error();
  const auto slot = buffer.exportSlot(3);
  return slot ? Result<void>{} : slot.error();
}

TEST_F(CudaFault, EveryCallOfACreationFailsOnce) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    everyCallFailsOnce(*standin, [&] { return withBuffer(cudaConfig(memory), none); });
    everyCallFailsOnce(*standin, [&] { return withBuffer(clearing(memory), none); });
  }
}

TEST_F(CudaFault, EveryCallOfACreationOfEitherKindFailsOnce) {
  for(const char* machine : {"flag-ignored", "unreachable"}) {
    standin->profile(machine);
    for(auto config : {cudaConfig(), clearing(CudaMemory::Auto)}) {
      config.rdma = GpuRdma::Try;
      everyCallFailsOnce(*standin, [&] { return withBuffer(config, none); });
    }
  }
  standin->profile("flag-ignored");
  everyCallFailsOnce(*standin, [&] { return withBuffer(cudaConfig(), none); });
}

TEST_F(CudaFault, EveryCallOfCopiesAndFlushesFailsOnce) {
  standin->profile("unordered");
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc})
    everyCallFailsOnce(*standin, [&] { return withBuffer(cudaConfig(memory), copyAndFlush); });
}

TEST_F(CudaFault, EveryCallOfPoisoningAndCheckingFailsOnce) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc})
    everyCallFailsOnce(*standin, [&] { return withBuffer(cudaConfig(memory), poisonAndCheck); });
}

TEST_F(CudaFault, EveryCallOfAnExportFailsOnce) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc})
    everyCallFailsOnce(*standin, [&] { return withBuffer(cudaConfig(memory), exportBoth); });
}

TEST_F(CudaFault, EveryCallOfSharingFailsOnce) {
  everyCallFailsOnce(*standin, [&] {
    return withBuffer(cudaConfig(), [](const RdmaGpuBuffer& buffer) -> Result<void> {
      const auto shared = buffer.share();
      if(!shared)
        return shared.error();
      int sockets[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
      EXPECT_TRUE(shared->send(sockets[0]));
      const auto attached = RdmaGpuBuffer::attach(sockets[1]);
      close(sockets[0]);
      close(sockets[1]);
      return attached ? Result<void>{} : attached.error();
    });
  });
}

TEST_F(CudaFault, EveryCallOfGrantingAccessFailsOnce) {
  everyCallFailsOnce(*standin, [&] {
    return withBuffer(cudaConfig(CudaMemory::Vmm), [](const RdmaGpuBuffer& buffer) {
      return buffer.grantAccess({.ordinal = 1, .pci = {}, .uuid = {}, .luid = {}});
    });
  });
}

TEST_F(CudaFault, EveryCallOfInspectingFailsOnce) {
  everyCallFailsOnce(*standin, [&] {
    return withBuffer(cudaConfig(), [](const RdmaGpuBuffer& buffer) {
      const auto told = inspect(buffer.slot(0).gpuVA, buffer.slot(0).size);
      return told ? Result<void>{} : told.error();
    });
  });
}

TEST_F(CudaFault, EveryCallOfSelectingFailsOnce) {
  auto config = cudaConfig();
  config.gpu.ordinal = 1;
  config.gpu.pci = PciAddress{.bus = 0x3C};
  config.gpu.uuid.emplace().fill(std::byte{0xA1});
  everyCallFailsOnce(*standin, [&] { return withBuffer(config, none); });
}

TEST_F(CudaFault, EveryCallOfSelectingTheNearestFailsOnce) {
  standin->profile("integrated-first");
  auto config = cudaConfig();
  config.peer = somePeer();
  everyCallFailsOnce(*standin, [&] { return withBuffer(config, none); });
}

TEST_F(CudaFault, EveryCallOfListingFailsOnce) {
  everyCallFailsOnce(*standin, [] {
    const LogCapture log;
    Outcome outcome;
    for(const BackendInfo& info : backends()) {
      if(info.api == RdmaGpuApi::Cuda && !info.available)
        outcome.result = info.reason;
    }
    outcome.survived = log.errors();
    return outcome;
  });
}

TEST_F(CudaFault, EveryCallOfMaxSlotsFailsOnce) {
  everyCallFailsOnce(*standin, [] {
    const LogCapture log;
    const auto most = RdmaGpuBuffer::maxSlots(cudaConfig());
    return Outcome{most ? Result<void>{} : Result<void>{most.error()}, log.errors()};
  });
}

TEST_F(CudaFault, DriverThatHasGoneAtTheEndIsNoFailure) {
  for(const auto gone : {api::Status::Deinitialized, api::Status::ContextIsDestroyed}) {
    const LogCapture log;
    auto buffer = RdmaGpuBuffer::make(cudaConfig());
    ASSERT_TRUE(buffer);
    standin->failNamed("cuMemRelease", gone);
    buffer->destroy();
    EXPECT_TRUE(log.errors().empty());
    standin->failNamed("cuMemRelease", api::Status::Unknown);
    EXPECT_TRUE(RdmaGpuBuffer::make(cudaConfig()));
    ASSERT_EQ(log.errors().size(), 1U);
    EXPECT_STREQ(log.errors().front().call, "cuMemRelease");
    standin->failNamed("", api::Status::Success);
  }
}

TEST_F(CudaFault, ErrorsCarryTheDriversNameKindAndRemedy) {
  standin->failNamed("cuMemCreate", api::Status::OutOfMemory);
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().origin, Origin::Cuda);
  EXPECT_EQ(buffer.error().kind, Errc::OutOfMemory);
  EXPECT_EQ(buffer.error().code, 2);
  EXPECT_STREQ(buffer.error().codeName, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_STREQ(buffer.error().call, "cuMemCreate");
  EXPECT_STREQ(buffer.error().finding, "gpu-memory");
  EXPECT_EQ(buffer.error().bytes, 2U << 20);
  EXPECT_EQ(buffer.error().device, 0);
  EXPECT_FALSE(buffer.error().hints().empty());
}

TEST_F(CudaFault, StatusThatTheDriverCannotNameIsNamedByUs) {
  standin->failNamed("cuInit", static_cast<api::Status>(803));
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_FALSE(buffer);
  EXPECT_STREQ(buffer.error().codeName, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
  EXPECT_STREQ(buffer.error().finding, "driver-mismatch");
}

} // namespace
} // namespace rdmagpu::test
