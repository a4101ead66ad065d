#include <contract/cuda_driver.hpp>
#include <os/library.hpp>

#include <cstdint>

namespace rdmagpu::test {
namespace {

/// Machines that differ in what both of NVIDIA's libraries say.
class CudaProfile : public OnCudaStandin {
protected:
  void become(const char* name) {
    auto library = os::Library::open("libnvidia-ml.so.1");
    ASSERT_TRUE(library);
    m_nvml = reinterpret_cast<Profile*>(library->find("rdmagpu_standin_nvml_profile"));
    ASSERT_TRUE(m_nvml);
    m_nvml(name);
    standin->profile(name);
  }
  void TearDown() override {
    if(m_nvml)
      m_nvml("");
    OnCudaStandin::TearDown();
  }

private:
  using Profile = void(const char*);
  Profile* m_nvml{};
};

constexpr std::uint64_t frame2160p = 3840 * 2160 * 4;

TEST_F(CudaProfile, GpuWithoutVmmGivesPlainMemory) {
  become("no-vmm");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::MemAlloc);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Yes);
}

TEST_F(CudaProfile, VmmThatIsAskedForAndNotOfferedIsWhatTheErrorNames) {
  become("no-vmm");
  auto config = cudaConfig(CudaMemory::Vmm);
  for(const GpuRdma rdma : {GpuRdma::Require, GpuRdma::Try, GpuRdma::Off}) {
    config.rdma = rdma;
    const auto refused = RdmaGpuBuffer::make(config);
    ASSERT_FALSE(refused);
    EXPECT_STREQ(refused.error().codeName, "VmmAbsent");
    EXPECT_STREQ(refused.error().call, "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED");
    EXPECT_FALSE(refused.error().hints().empty());
  }
}

TEST_F(CudaProfile, SmallBar1LimitsTheSlotsNotTheMemory) {
  become("t4");
  auto config = cudaConfig();
  config.frameBytes = frame2160p;
  const auto most = RdmaGpuBuffer::maxSlots(config);
  ASSERT_TRUE(most) << most.error().message();
  EXPECT_EQ(*most, 7U) << "of 256 MiB less an eighth";
  config.slotCount = *most;
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
  config.slotCount = *most + 1;
  const auto refused = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "DeviceBudgetExceeded");
  EXPECT_GT(refused.error().bytes, refused.error().available);
  EXPECT_FALSE(refused.error().hints().empty());
}

TEST_F(CudaProfile, MemoryThatNoPeerIsToReachIsGivenWhereNoneCan) {
  become("geforce");
  auto config = cudaConfig();
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "NotRdmaCapable");
  for(const GpuRdma rdma : {GpuRdma::Try, GpuRdma::Off}) {
    for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
      config.rdma = rdma;
      config.cudaMemory = memory;
      const auto buffer = RdmaGpuBuffer::make(config);
      ASSERT_TRUE(buffer) << buffer.error().message();
      EXPECT_EQ(buffer->facts().cudaMemory, memory);
    }
  }
}

TEST_F(CudaProfile, TriedReachIsToldOf) {
  auto config = cudaConfig();
  config.rdma = GpuRdma::Try;
  EXPECT_EQ(RdmaGpuBuffer::make(config)->facts().rdmaCapable, Answer::Yes);
  become("flag-ignored");
  config.cudaMemory = CudaMemory::Vmm;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::No);
  ASSERT_EQ(buffer->facts().tolerated.size(), 1U);
  EXPECT_STREQ(buffer->facts().tolerated.front().codeName, "NotRdmaCapable");
}

TEST_F(CudaProfile, MemoryOfTheOtherKindIsTakenWherePeersReachOnlyThat) {
  become("flag-ignored");
  auto config = cudaConfig();
  for(const GpuRdma rdma : {GpuRdma::Require, GpuRdma::Try}) {
    config.rdma = rdma;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::MemAlloc);
    EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Yes);
    EXPECT_STREQ(buffer->facts().cudaMemoryReason.codeName, "NotRdmaCapable");
    EXPECT_STREQ(buffer->facts().cudaMemoryReason.call, "CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE");
    EXPECT_EQ(buffer->facts().syncMemops, Answer::Yes);
    EXPECT_TRUE(buffer->facts().tolerated.empty());
  }
  config.rdma = GpuRdma::Off;
  EXPECT_EQ(RdmaGpuBuffer::make(config)->facts().cudaMemory, CudaMemory::Vmm);
}

TEST_F(CudaProfile, OtherKindIsNotKeptWherePeersReachItNoBetter) {
  become("unreachable");
  auto config = cudaConfig();
  const auto refused = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "NotRdmaCapable");
  config.rdma = GpuRdma::Try;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::No);
  EXPECT_EQ(buffer->facts().cudaMemoryReason.kind, Errc::None);
  ASSERT_EQ(buffer->facts().tolerated.size(), 1U);
  EXPECT_STREQ(buffer->facts().tolerated.front().codeName, "NotRdmaCapable");
  EXPECT_TRUE(buffer->share());
  EXPECT_FALSE(CudaDriver::instance().primaryIsActive());
}

TEST_F(CudaProfile, OtherKindThatIsRefusedLeavesTheFirst) {
  become("flag-ignored");
  standin->failNamed("cuMemAlloc_v2", api::Status::OutOfMemory);
  auto config = cudaConfig();
  config.rdma = GpuRdma::Try;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::No);
  ASSERT_EQ(buffer->facts().tolerated.size(), 2U);
  EXPECT_STREQ(buffer->facts().tolerated.front().call, "cuMemAlloc_v2");
  EXPECT_STREQ(buffer->facts().tolerated.back().codeName, "NotRdmaCapable");
  config.rdma = GpuRdma::Require;
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().call, "cuMemAlloc_v2");
}

TEST_F(CudaProfile, SmallBar1DoesNotLimitMemoryThatNoPeerIsToReach) {
  become("t4");
  auto config = cudaConfig();
  config.frameBytes = frame2160p;
  config.rdma = GpuRdma::Off;
  EXPECT_GT(*RdmaGpuBuffer::maxSlots(config), 100U);
  config.slotCount = 10;
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
}

TEST_F(CudaProfile, IntegratedGpusAreLeftToHostMemory) {
  for(const char* name : {"integrated", "gb10"}) {
    become(name);
    const auto refused = RdmaGpuBuffer::make(cudaConfig());
    ASSERT_FALSE(refused);
    EXPECT_STREQ(refused.error().codeName, "IntegratedGpu");
    auto config = cudaConfig();
    config.api = RdmaGpuApi::Auto;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
    ASSERT_FALSE(buffer->selection().empty());
    EXPECT_STREQ(buffer->selection().front().error.codeName, "IntegratedGpu");
  }
}

TEST_F(CudaProfile, PinnedHostMemoryIsTheDirectPathOfAnIntegratedGpu) {
  for(const char* name : {"integrated", "gb10"}) {
    become(name);
    auto config = cudaConfig();
    config.api = RdmaGpuApi::Auto;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().pinnedBy, PinnedBy::Cuda);
    EXPECT_EQ(buffer->facts().directForGpu, Answer::Yes);
  }
}

TEST_F(CudaProfile, AnIntegratedGpuThatDoesNotPinIsNotCalledDirect) {
  become("integrated");
  standin->failNamed("cuMemHostRegister_v2", api::Status::NotSupported);
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().directForGpu, Answer::Unknown);
  EXPECT_STREQ(buffer->facts().pinError.call, "cuMemHostRegister_v2");
}

TEST_F(CudaProfile, HostMemoryPinnedForADiscreteGpuIsNotDirect) {
  auto config = cudaConfig();
  config.api = RdmaGpuApi::HostFallback;
  config.host.gpuPin = GpuPin::Require;
  const auto pinned = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(pinned) << pinned.error().message();
  EXPECT_EQ(pinned->facts().directForGpu, Answer::No);
  const auto own = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(own) << own.error().message();
  EXPECT_EQ(own->facts().directForGpu, Answer::Yes);
}

} // namespace
} // namespace rdmagpu::test
