#include <contract/cuda_driver.hpp>

#include <array>
#include <cstddef>
#include <thread>

namespace rdmagpu::test {
namespace {

/// Invariant: the caller's current context is the same after every call, and nothing keeps the primary
/// context that does not need it.
class CudaContext : public testing::TestWithParam<CudaMemory> {
protected:
  void SetUp() override { ASSERT_EQ(cuda.current(), nullptr); }
  void TearDown() override { EXPECT_EQ(cuda.current(), nullptr); }

  RdmaGpuBufferConfig config() const {
    auto wanted = cudaConfig(GetParam());
    wanted.zeroFill = true;
    wanted.scrubOnDestroy = true;
    return wanted;
  }

  /// Everything that a buffer can do; checks the current context after each step.
  void useAll(api::Context expected) {
    auto buffer = RdmaGpuBuffer::make(config());
    EXPECT_EQ(cuda.current(), expected);
    ASSERT_TRUE(buffer) << buffer.error().message();
    std::array<std::byte, 5000> bytes{};
    EXPECT_TRUE(buffer->upload(1, bytes));
    EXPECT_EQ(cuda.current(), expected);
    EXPECT_TRUE(buffer->download(2, bytes));
    EXPECT_EQ(cuda.current(), expected);
    EXPECT_TRUE(buffer->poison(3, 1));
    EXPECT_TRUE(buffer->checksum(3, 5000));
    EXPECT_TRUE(buffer->clear(3));
    EXPECT_EQ(cuda.current(), expected);
    EXPECT_TRUE(buffer->exportRegion());
    EXPECT_TRUE(buffer->exportSlot(1));
    EXPECT_EQ(cuda.current(), expected);
    EXPECT_TRUE(buffer->flushPeerWrites());
    EXPECT_EQ(cuda.current(), expected);
    buffer->destroy();
    EXPECT_EQ(cuda.current(), expected);
  }

  api::Context retain(int ordinal) {
    api::Context context{};
    EXPECT_EQ(cuda.functions.primaryCtxRetain(&context, static_cast<api::Device>(ordinal)),
              api::Status::Success);
    return context;
  }
  void release(int ordinal) {
    EXPECT_EQ(cuda.functions.primaryCtxRelease(static_cast<api::Device>(ordinal)), api::Status::Success);
  }

  const CudaDriver& cuda = CudaDriver::instance();
};

TEST_P(CudaContext, NoneStaysNone) {
  useAll(nullptr);
  EXPECT_FALSE(cuda.primaryIsActive()) << "nothing needs it any more";
}

TEST_P(CudaContext, CallersOwnIsUsedAndStays) {
  const api::Context own = retain(0);
  ASSERT_EQ(cuda.ctxSetCurrent(own), api::Status::Success);
  CudaStandin* standin = CudaStandin::find();
  if(standin)
    standin->failCall(0);
  useAll(own);
  if(standin) {
    EXPECT_EQ(standin->calls("cuDevicePrimaryCtxRetain"), 0);
    EXPECT_EQ(standin->calls("cuCtxPushCurrent_v2"), 0);
  }
  EXPECT_EQ(cuda.ctxSetCurrent(nullptr), api::Status::Success);
  release(0);
}

TEST_P(CudaContext, OneOfAnotherGpuStays) {
  if(cuda.deviceCount() < 2)
    GTEST_SKIP() << "this machine has one GPU";
  const api::Context other = retain(1);
  ASSERT_EQ(cuda.ctxSetCurrent(other), api::Status::Success);
  useAll(other);
  EXPECT_EQ(cuda.ctxSetCurrent(nullptr), api::Status::Success);
  release(1);
  EXPECT_FALSE(cuda.primaryIsActive(0));
}

TEST_P(CudaContext, BufferMadeInOneThreadIsUsedAndDestroyedInAnother) {
  auto buffer = RdmaGpuBuffer::make(config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  std::thread{[&] {
    std::array<std::byte, 100> bytes{};
    EXPECT_TRUE(buffer->upload(0, bytes));
    EXPECT_EQ(cuda.current(), nullptr);
    buffer->destroy();
    EXPECT_EQ(cuda.current(), nullptr);
  }}.join();
  EXPECT_FALSE(cuda.primaryIsActive());
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaContext, testing::Values(CudaMemory::Vmm, CudaMemory::MemAlloc),
                         [](const auto& tested) {
                           return tested.param == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

using CudaVmmContext = CudaContext;
INSTANTIATE_TEST_SUITE_P(Cuda, CudaVmmContext, testing::Values(CudaMemory::Vmm));

TEST_P(CudaVmmContext, CreationMakesNone) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_FALSE(cuda.primaryIsActive());
}

TEST_P(CudaVmmContext, ExportGivesItBackAndTheDescriptorLives) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto exported = buffer->exportRegion();
  ASSERT_TRUE(exported) << exported.error().message();
  EXPECT_FALSE(cuda.primaryIsActive());
  EXPECT_TRUE(buffer->exportRegion()) << "from the descriptor that is there";
}

TEST_P(CudaVmmContext, CopiesKeepItUntilTheBufferGoes) {
  auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  std::array<std::byte, 100> bytes{};
  ASSERT_TRUE(buffer->upload(0, bytes));
  EXPECT_TRUE(cuda.primaryIsActive()) << "the next copy would pay for it again";
  buffer->destroy();
  EXPECT_FALSE(cuda.primaryIsActive());
}

} // namespace
} // namespace rdmagpu::test
