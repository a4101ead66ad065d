#include <contract/cuda_driver.hpp>
#include <rdmagpu/backends.hpp>
#include <support/temp_tree.hpp>

#include <cstddef>
#include <limits>
#include <string>

namespace rdmagpu::test {
namespace {

const auto noSuchPci = PciAddress{.domain = 0xFFFF, .bus = 0xEE};

Error refusal(const RdmaGpuBufferConfig& config) {
  const auto made = RdmaGpuBuffer::make(config);
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

TEST(CudaSelection, OrdinalOutOfRangeNamesAskedAndAvailable) {
  auto config = cudaConfig();
  config.cudaDevice = 1000;
  const Error error = refusal(config);
  EXPECT_EQ(error.kind, Errc::NotFound);
  EXPECT_STREQ(error.codeName, "DeviceOutOfRange");
  EXPECT_EQ(error.bytes, 1000U);
  EXPECT_EQ(error.available, static_cast<std::uint64_t>(CudaDriver::instance().deviceCount()));
  EXPECT_FALSE(error.hints().empty());
  EXPECT_NE(error.message().find("; asked 1000, available " + std::to_string(error.available)),
            std::string::npos)
      << error.message();
  config.gpu.ordinal = 0;
  EXPECT_TRUE(RdmaGpuBuffer::make(config)) << "gpu counts, not cudaDevice";
}

TEST(CudaSelection, NegativeOrdinalIsNamedWithTheOnesThereAre) {
  for(const int negative : {-1, std::numeric_limits<int>::min()}) {
    for(const RdmaGpuApi api : {RdmaGpuApi::Cuda, RdmaGpuApi::Auto}) {
      auto config = cudaConfig();
      config.api = api;
      config.cudaDevice = negative;
      const Error error = refusal(config);
      EXPECT_EQ(error.kind, Errc::NotFound);
      EXPECT_STREQ(error.codeName, "OrdinalNegative");
      EXPECT_EQ(error.device, negative);
      EXPECT_EQ(error.available, static_cast<std::uint64_t>(CudaDriver::instance().deviceCount()));
    }
  }
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto granted = buffer->grantAccess({.ordinal = -1, .pci = {}, .uuid = {}, .luid = {}});
  ASSERT_FALSE(granted);
  EXPECT_STREQ(granted.error().codeName, "OrdinalNegative");
  EXPECT_STREQ(granted.error().call, "RdmaGpuBuffer::grantAccess");
}

TEST(CudaSelection, PciAddressOfNoGpuIsNotFound) {
  auto config = cudaConfig();
  config.gpu.pci = noSuchPci;
  const Error error = refusal(config);
  EXPECT_EQ(error.kind, Errc::NotFound);
  EXPECT_STREQ(error.codeName, "DeviceNotFound");
  EXPECT_TRUE(error.message().ends_with("; PCI device ffff:ee:00.0")) << error.message();
  EXPECT_FALSE(error.hints().empty());
}

TEST(CudaSelection, UuidOfNoGpuIsNotFound) {
  auto config = cudaConfig();
  config.gpu.uuid.emplace().fill(std::byte{0x5a});
  const Error error = refusal(config);
  EXPECT_STREQ(error.codeName, "DeviceNotFound");
  EXPECT_TRUE(error.message().ends_with("; GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a")) << error.message();
}

TEST(CudaSelection, AGpuThatIsNotThereIsNotFoundUnderAutoToo) {
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  config.gpu.ordinal = 99;
  EXPECT_STREQ(refusal(config).codeName, "DeviceOutOfRange");
  EXPECT_EQ(refusal(config).bytes, 99U);
  EXPECT_STREQ(RdmaGpuBuffer::maxSlots(config).error().codeName, "DeviceOutOfRange");
  config.accepts = {HandoffKind::HostPointer};
  EXPECT_STREQ(refusal(config).codeName, "DeviceOutOfRange") << "though its memory would not be taken";
  EXPECT_STREQ(RdmaGpuBuffer::maxSlots(config).error().codeName, "DeviceOutOfRange");
  config.gpu = {};
  config.cudaDevice = 99;
  EXPECT_STREQ(refusal(config).codeName, "DeviceOutOfRange");
  config.cudaDevice = 0;
  config.gpu.pci = noSuchPci;
  EXPECT_STREQ(refusal(config).codeName, "DeviceNotFound");
}

TEST(CudaSelection, LuidIsNotOfThisSystem) {
  auto config = cudaConfig();
  config.gpu.luid.emplace();
  EXPECT_STREQ(refusal(config).codeName, "PlatformLacks");
}

TEST(CudaSelection, PciAddressFindsTheGpuThatIsListedThere) {
  for(const BackendInfo& info : backends()) {
    if(info.api != RdmaGpuApi::Cuda)
      continue;
    ASSERT_FALSE(info.devices.empty());
    for(const DeviceInfo& device : info.devices) {
      auto config = cudaConfig();
      config.gpu.pci = device.pci;
      const auto buffer = RdmaGpuBuffer::make(config);
      ASSERT_TRUE(buffer) << buffer.error().message();
      EXPECT_EQ(buffer->facts().pci, device.pci);
      EXPECT_EQ(buffer->facts().device, device.name);
    }
  }
}

class CudaTwoGpus : public OnCudaStandin {};

TEST_F(CudaTwoGpus, OneThatIsThereAndCannotBeUsedIsAReasonOfAuto) {
  standin->profile("geforce");
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  config.gpu.ordinal = 1;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  EXPECT_STREQ(buffer->selection().front().error.codeName, "NotRdmaCapable");
}

TEST_F(CudaTwoGpus, WhereThereIsNoneTheFirstOneIsAReasonOfAuto) {
  standin->profile("no-device");
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
}

TEST_F(CudaTwoGpus, WaysToNameOneMustAgree) {
  auto config = cudaConfig();
  config.gpu.ordinal = 0;
  config.gpu.pci = PciAddress{.bus = 0x3C};
  EXPECT_STREQ(refusal(config).codeName, "GpuSelectorConflict");
  config.api = RdmaGpuApi::Auto;
  EXPECT_STREQ(refusal(config).codeName, "GpuSelectorConflict") << "no other backend would do better";
  config.api = RdmaGpuApi::Cuda;
  config.gpu.ordinal = 1;
  config.gpu.uuid.emplace().fill(std::byte{0xA1});
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().pci, config.gpu.pci);
  config.gpu.uuid->fill(std::byte{0xA0});
  EXPECT_STREQ(refusal(config).codeName, "GpuSelectorConflict");
}

TEST_F(CudaTwoGpus, EachIsDescribedOnceForAllBuffers) {
  auto config = cudaConfig();
  for(const int ordinal : {0, 1, 0, 1}) {
    config.cudaDevice = ordinal;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().pci, (PciAddress{.bus = static_cast<std::uint8_t>(0x3B + ordinal)}));
  }
  EXPECT_EQ(standin->calls("cuDeviceGetName"), 2);
}

TEST_F(CudaTwoGpus, CudaDeviceIsTheOrdinal) {
  auto config = cudaConfig();
  config.cudaDevice = 1;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->facts().pci, PciAddress{.bus = 0x3C});
}

/// Two GPUs, at 3b:00.0 and 3c:00.0, on a machine whose PCI bus a test makes up.
class CudaNearestGpu : public CudaTwoGpus {
protected:
  void put(const char* device, const std::string& way, int node = -1) const {
    const std::string target = "/sys/devices/" + way + "/" + device;
    m_tree.write(target + "/numa_node", std::to_string(node) + "\n");
    m_tree.link(std::string{"/sys/bus/pci/devices/"} + device, "../../.." + target.substr(4));
  }
  int chosen(const RdmaGpuBufferConfig& config) const {
    const auto ordinal = backend::cuda::chooseGpu(CudaDriver::instance().functions, config, m_tree.root());
    EXPECT_TRUE(ordinal) << ordinal.error().message();
    return ordinal ? *ordinal : -1;
  }
  static RdmaGpuBufferConfig besideThePeer() {
    auto config = cudaConfig();
    config.peer = PciAddress{.bus = 0x3D};
    return config;
  }

private:
  TempTree m_tree;
};

TEST_F(CudaNearestGpu, IsTheOneBehindTheMostOfThePeersBridges) {
  put("0000:3b:00.0", "pci0000:3a/0000:3a:00.0", 0);
  put("0000:3c:00.0", "pci0000:3a/0000:3a:01.0/0000:40:00.0", 1);
  put("0000:3d:00.0", "pci0000:3a/0000:3a:01.0/0000:40:01.0", 0);
  EXPECT_EQ(chosen(besideThePeer()), 1) << "whatever the NUMA node";
}

TEST_F(CudaNearestGpu, IsOnThePeersNumaNodeWhereNoBridgeTells) {
  put("0000:3b:00.0", "pci0000:3a/0000:3a:00.0", 0);
  put("0000:3c:00.0", "pci0000:5a/0000:5a:00.0", 1);
  put("0000:3d:00.0", "pci0000:7a/0000:7a:00.0", 1);
  EXPECT_EQ(chosen(besideThePeer()), 1);
}

TEST_F(CudaNearestGpu, IsTheFirstOfThoseThatAreAsNear) {
  EXPECT_EQ(chosen(besideThePeer()), 0) << "nobody tells";
  put("0000:3b:00.0", "pci0000:3a/0000:3a:00.0");
  put("0000:3c:00.0", "pci0000:3a/0000:3a:01.0");
  put("0000:3d:00.0", "pci0000:3a/0000:3a:02.0");
  EXPECT_EQ(chosen(besideThePeer()), 0);
}

class CudaNearestCapableGpu : public CudaNearestGpu {
protected:
  /// A peer beside the first GPU.
  void SetUp() override {
    CudaNearestGpu::SetUp();
    put("0000:3b:00.0", "pci0000:3a/0000:3a:00.0/0000:40:00.0", 0);
    put("0000:3c:00.0", "pci0000:5a/0000:5a:00.0", 1);
    put("0000:3d:00.0", "pci0000:3a/0000:3a:00.0/0000:40:01.0", 0);
  }
};

TEST_F(CudaNearestCapableGpu, IsNoIntegratedOneWhereThereIsAnother) {
  auto config = besideThePeer();
  ASSERT_EQ(chosen(config), 0);
  standin->profile("integrated-first");
  for(const GpuRdma rdma : {GpuRdma::Require, GpuRdma::Try, GpuRdma::Off}) {
    config.rdma = rdma;
    EXPECT_EQ(chosen(config), 1);
  }
  standin->profile("integrated");
  EXPECT_EQ(chosen(config), 0) << "the nearest, if none will do";
}

TEST_F(CudaNearestCapableGpu, IsOneThatPeersReachUnlessNoneHasTo) {
  standin->profile("geforce-first");
  auto config = besideThePeer();
  for(const GpuRdma rdma : {GpuRdma::Require, GpuRdma::Try}) {
    config.rdma = rdma;
    EXPECT_EQ(chosen(config), 1);
  }
  config.rdma = GpuRdma::Off;
  EXPECT_EQ(chosen(config), 0);
  config.rdma = GpuRdma::Require;
  config.gpu.ordinal = 0;
  EXPECT_EQ(chosen(config), 0) << "it is named";
}

TEST_F(CudaNearestCapableGpu, IsAnyOneForHostMemory) {
  auto config = besideThePeer();
  config.api = RdmaGpuApi::HostFallback;
  for(const char* machine : {"integrated-first", "geforce-first"}) {
    standin->profile(machine);
    EXPECT_EQ(chosen(config), 0);
  }
}

TEST_F(CudaNearestGpu, IsNotTakenForOneThatIsNamed) {
  put("0000:3b:00.0", "pci0000:3a/0000:3a:00.0");
  put("0000:3c:00.0", "pci0000:5a/0000:5a:00.0");
  put("0000:3d:00.0", "pci0000:5a/0000:5a:01.0");
  auto config = besideThePeer();
  ASSERT_EQ(chosen(config), 1);
  config.gpu.ordinal = 0;
  EXPECT_EQ(chosen(config), 0);
  config = besideThePeer();
  config.peer = PciAddress{.bus = 0x3B};
  ASSERT_EQ(chosen(config), 0);
  config.cudaDevice = 1;
  EXPECT_EQ(chosen(config), 1);
}

TEST_F(CudaNearestGpu, IsNoneWhereThereIsNoGpu) {
  standin->profile("no-device");
  const auto refused = backend::cuda::chooseGpu(CudaDriver::instance().functions, besideThePeer());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::NotFound);
}

} // namespace
} // namespace rdmagpu::test
