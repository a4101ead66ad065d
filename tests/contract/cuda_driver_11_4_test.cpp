#include <contract/cuda_driver.hpp>

#include <array>
#include <cstddef>

namespace rdmagpu::test {
namespace {

/// A driver that offers RDMA and VMM, and is older than exports as dma-buf.
using CudaDriver11_4 = OnCudaStandin;

TEST_F(CudaDriver11_4, SlotsAreMadeAndUsed) {
  EXPECT_FALSE(CudaDriver::instance().functions.memGetHandleForAddressRange);
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Yes);
  std::array<std::byte, 100> bytes{};
  EXPECT_TRUE(buffer->upload(0, bytes));
  EXPECT_TRUE(buffer->download(0, bytes));
  EXPECT_TRUE(buffer->flushPeerWrites());
}

TEST_F(CudaDriver11_4, ExportSaysWhatIsMissing) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto exported = buffer->exportRegion();
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().kind, Errc::Unsupported);
  EXPECT_STREQ(exported.error().call, "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED");
  EXPECT_FALSE(exported.error().hints().empty());
  EXPECT_FALSE(buffer->exportSlot(1));
}

/// It tells no ids of contexts, and is asked for their version instead.
TEST_F(CudaDriver11_4, ContextThatWasDestroyedIsRefused) {
  const CudaDriver& cuda = CudaDriver::instance();
  EXPECT_FALSE(cuda.functions.ctxGetId);
  api::Context own{};
  ASSERT_EQ(cuda.ctxCreate(&own, 0, api::Device{}), api::Status::Success);
  {
    const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::MemAlloc));
    ASSERT_TRUE(buffer) << buffer.error().message();
    std::array<std::byte, 100> bytes{};
    EXPECT_TRUE(buffer->checksum(0, bytes.size()));
    ASSERT_EQ(cuda.ctxDestroy(own), api::Status::Success);
    const auto upload = buffer->upload(0, bytes);
    ASSERT_FALSE(upload);
    EXPECT_STREQ(upload.error().codeName, "CUDA_ERROR_INVALID_CONTEXT");
  }
  EXPECT_EQ(cuda.current(), nullptr);
}

} // namespace
} // namespace rdmagpu::test
