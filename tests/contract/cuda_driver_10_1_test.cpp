#include <rdmagpu/backends.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::test {
namespace {

/// A driver without a function that cannot be done without.
void expectTooOld(const Error& error) {
  EXPECT_EQ(error.kind, Errc::TooOld) << error.message();
  EXPECT_STREQ(error.codeName, "DriverTooOld");
  EXPECT_STREQ(error.call, "cuDevicePrimaryCtxRelease_v2");
  EXPECT_FALSE(error.hints().empty());
}

TEST(CudaDriver10_1, IsTooOldAndTheErrorNamesWhatItLacks) {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = 100'000});
  ASSERT_FALSE(buffer);
  expectTooOld(buffer.error());
}

TEST(CudaDriver10_1, IsPassedOverByAutoAndListedWithTheReason) {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::Auto, .slotCount = 2, .frameBytes = 100'000});
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  ASSERT_FALSE(buffer->selection().empty());
  expectTooOld(buffer->selection().front().error);
  for(const BackendInfo& info : backends()) {
    if(info.api != RdmaGpuApi::Cuda)
      continue;
    EXPECT_FALSE(info.available);
    expectTooOld(info.reason);
  }
}

} // namespace
} // namespace rdmagpu::test
