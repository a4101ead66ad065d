#pragma once
#include "verbs_fixture.hpp"

#include <contract/cuda_driver.hpp>

namespace rdmagpu::nictest {

/// Slots on the software CUDA device.
class VerbsGpu : public test::OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    reset();
  }
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), testing::IsEmpty());
    EXPECT_TRUE(live().empty());
  }

  /// On a machine of that kind, with that NIC.
  RdmaGpuBuffer gpuBuffer(const Nic& nic = mlx5(), PcieMapping mapping = PcieMapping::Off) {
    RdmaGpuBuffer buffer = makeBuffer({.api = RdmaGpuApi::Cuda, .pcieMapping = mapping});
    reset(nic);
    deviceMemory(addressBits(buffer.handoff(0)), 4 * stride);
    return buffer;
  }
};

} // namespace rdmagpu::nictest
