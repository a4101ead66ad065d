#include <contract/bytes_contract.hpp>
#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace rdmagpu::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, BytesContract,
                         testing::Values(cudaConfig(CudaMemory::Vmm), cudaConfig(CudaMemory::MemAlloc)),
                         [](const auto& tested) {
                           return tested.param.cudaMemory == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

RdmaGpuBuffer makeBuffer() {
  auto buffer = RdmaGpuBuffer::make(cudaConfig());
  EXPECT_TRUE(buffer) << buffer.error().message();
  return buffer ? *std::move(buffer) : RdmaGpuBuffer{};
}

TEST(CudaKernelsContext, StaysTheOneThatTheyWereLoadedInto) {
  const PrimaryOf own{0};
  auto buffer = makeBuffer();
  {
    const CurrentContext current{own.get()};
    ASSERT_TRUE(buffer.checksum(0, 100));
  }
  ASSERT_TRUE(buffer.checksum(0, 100)) << "with none current";
  if(CudaDriver::instance().deviceCount() > 1) {
    const PrimaryOf other{1};
    const CurrentContext current{other.get()};
    ASSERT_TRUE(buffer.checksum(0, 100)) << "with another GPU's current";
    buffer.destroy();
  }
}

/// How the driver is asked for them.
using CudaKernels = OnCudaStandin;

TEST_F(CudaKernels, AreNotLoadedBeforeTheyAreNeeded) {
  const auto buffer = makeBuffer();
  std::array<std::byte, 100> bytes{};
  ASSERT_TRUE(buffer.upload(0, bytes));
  ASSERT_TRUE(buffer.clear(0));
  ASSERT_TRUE(buffer.checksum(0, 0));
  EXPECT_EQ(standin->calls("cuModuleLoadData"), 0);
}

TEST_F(CudaKernels, AreLoadedOnceAndAllocateNothingAfterwards) {
  const auto buffer = makeBuffer();
  ASSERT_TRUE(buffer.checksum(0, 100));
  standin->failCall(0); // counts anew
  for(int i = 0; i < 5; ++i) {
    ASSERT_TRUE(buffer.checksum(0, 100));
    ASSERT_TRUE(buffer.poison(0, 1));
  }
  EXPECT_EQ(standin->calls("cuLaunchKernel"), 10);
  EXPECT_EQ(standin->calls("cuModuleLoadData"), 0);
  EXPECT_EQ(standin->calls("cuModuleGetFunction"), 0);
  EXPECT_EQ(standin->calls("cuMemAlloc_v2"), 0);
}

TEST_F(CudaKernels, AreDoneWhenACallReturns) {
  const auto buffer = makeBuffer();
  ASSERT_TRUE(buffer.poison(0, 1));
  EXPECT_EQ(standin->unfinished(), 0);
  ASSERT_TRUE(buffer.checksum(0, 100));
  EXPECT_EQ(standin->unfinished(), 0);
  ASSERT_TRUE(buffer.clear(0));
  EXPECT_EQ(standin->unfinished(), 0);
}

TEST_F(CudaKernels, DriverThatCannotCompileThemSaysWhatToDo) {
  const auto buffer = makeBuffer();
  for(const unsigned code : {209U, 218U, 221U, 222U, 223U}) {
    standin->failNamed("cuModuleLoadData", static_cast<api::Status>(code));
    for(const Error& error : {buffer.checksum(0, 100).error(), buffer.poison(0, 1).error()}) {
      EXPECT_EQ(error.kind, Errc::Unsupported) << error.message();
      EXPECT_STREQ(error.finding, "no-kernels");
      EXPECT_FALSE(error.hints().empty()) << error.message();
      EXPECT_TRUE(hintsName(error, "checksum()") && hintsName(error, "poison()")) << error.codeName;
    }
  }
  EXPECT_TRUE(buffer.clear(0)) << "needs none";
  standin->failNamed("", api::Status::Success);
  EXPECT_TRUE(buffer.checksum(0, 100)) << "the driver is asked again";
}

} // namespace
} // namespace rdmagpu::test
