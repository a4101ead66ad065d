#include <contract/cuda_driver.hpp>

#include <cstdint>

namespace rdmagpu::test {
namespace {

GpuSelector gpu(int ordinal) { return {.ordinal = ordinal, .pci = {}, .uuid = {}, .luid = {}}; }

unsigned long long accessOf(int ordinal, const RdmaGpuSlot& slot) {
  const api::Location location{.id = ordinal};
  unsigned long long flags{};
  EXPECT_EQ(
      CudaDriver::instance().memGetAccess(&flags, &location, reinterpret_cast<std::uintptr_t>(slot.gpuVA)),
      api::Status::Success);
  return flags;
}

constexpr auto none = 0ULL;
constexpr auto readWrite = static_cast<unsigned long long>(api::AccessFlags::ReadWrite);

TEST(CudaAccess, SecondGpuGetsAllSlots) {
  if(CudaDriver::instance().deviceCount() < 2)
    GTEST_SKIP() << "this machine has one GPU";
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(accessOf(1, buffer->slot(3)), none);
  const auto granted = buffer->grantAccess(gpu(1));
  ASSERT_TRUE(granted) << granted.error().message();
  EXPECT_TRUE(buffer->grantAccess(gpu(1))) << "again";
  EXPECT_EQ(accessOf(1, buffer->slot(0)), readWrite);
  EXPECT_EQ(accessOf(1, buffer->slot(3)), readWrite);
  EXPECT_EQ(accessOf(0, buffer->slot(3)), readWrite) << "its own GPU keeps it";
  EXPECT_FALSE(CudaDriver::instance().primaryIsActive(1));
}

TEST(CudaAccess, OwnGpuHasItAlready) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_TRUE(buffer->grantAccess(gpu(0)));
  EXPECT_TRUE(buffer->grantAccess({.ordinal = {}, .pci = buffer->facts().pci, .uuid = {}, .luid = {}}));
}

TEST(CudaAccess, GpuThatIsNotThereIsNotFound) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto granted = buffer->grantAccess(gpu(1000));
  ASSERT_FALSE(granted);
  EXPECT_STREQ(granted.error().codeName, "DeviceOutOfRange");
  EXPECT_STREQ(granted.error().call, "RdmaGpuBuffer::grantAccess");
}

TEST(CudaAccess, PlainMemoryIsOpenedByContextAndSaysSo) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::MemAlloc));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto granted = buffer->grantAccess(gpu(0));
  ASSERT_FALSE(granted);
  EXPECT_EQ(granted.error().kind, Errc::Unsupported);
  EXPECT_STREQ(granted.error().codeName, "AccessPerContext");
  EXPECT_FALSE(granted.error().hints().empty());
}

TEST(CudaAccess, MemoryOfNoGpuHasNoneToGrant) {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = 1});
  ASSERT_TRUE(buffer);
  EXPECT_STREQ(buffer->grantAccess(gpu(0)).error().codeName, "NotGrantable");
  EXPECT_STREQ(RdmaGpuBuffer{}.grantAccess(gpu(0)).error().codeName, "BufferEmpty");
}

class CudaAccessOnStandin : public OnCudaStandin {};

TEST_F(CudaAccessOnStandin, GpuIsFoundByItsPciAddress) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  ASSERT_TRUE(buffer->grantAccess({.ordinal = {}, .pci = PciAddress{.bus = 0x3C}, .uuid = {}, .luid = {}}));
  EXPECT_EQ(accessOf(1, buffer->slot(0)), readWrite);
}

TEST_F(CudaAccessOnStandin, GpusThatDoNotReachEachOtherAreRefused) {
  standin->profile("gpus-apart");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  const auto granted = buffer->grantAccess(gpu(1));
  ASSERT_FALSE(granted);
  EXPECT_EQ(granted.error().kind, Errc::Unsupported);
  EXPECT_STREQ(granted.error().call, "cuDeviceCanAccessPeer");
  EXPECT_STREQ(granted.error().codeName, "GpusApart");
  EXPECT_EQ(granted.error().device, 1);
  EXPECT_FALSE(granted.error().hints().empty());
  EXPECT_EQ(accessOf(1, buffer->slot(0)), none);
}

constexpr auto toNobody = api::FlushScope{};

TEST_F(CudaAccessOnStandin, WritesOrderedForTheirOwnGpuAreFlushedForAnother) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->facts().writesOrderedForAll, Answer::No);
  ASSERT_TRUE(buffer->grantAccess(gpu(0)));
  ASSERT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), toNobody) << "its own GPU sees them in order";
  ASSERT_TRUE(buffer->grantAccess(gpu(1)));
  ASSERT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), api::FlushScope::ToAllDevices);
  const auto other = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(other);
  standin->failCall(0); // forgets the flush
  EXPECT_TRUE(other->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), toNobody) << "no other GPU was let into that one";
}

TEST_F(CudaAccessOnStandin, WritesOrderedForNobodyAreFlushedForWhoeverHasAccess) {
  standin->profile("unordered");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  ASSERT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), api::FlushScope::ToOwner);
  ASSERT_TRUE(buffer->grantAccess(gpu(1)));
  ASSERT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), api::FlushScope::ToAllDevices);
}

TEST_F(CudaAccessOnStandin, WritesOrderedForAllGpusAreNeverFlushed) {
  const api::Functions& driver = CudaDriver::instance().functions;
  auto ordered = backend::cuda::describeGpu(driver, 0);
  ASSERT_TRUE(ordered);
  ordered->writesOrdering = api::orderedForAllDevices;
  backend::cuda::pretendGpu(*ordered);
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  ASSERT_TRUE(buffer->grantAccess(gpu(1)));
  EXPECT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), toNobody);
  EXPECT_EQ(buffer->facts().writesOrderedForAll, Answer::Yes);
  EXPECT_FALSE(buffer->facts().writesNeedFlush);
}

TEST_F(CudaAccessOnStandin, GpuThatWasRefusedNeedsNoFlush) {
  standin->profile("gpus-apart");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  ASSERT_FALSE(buffer->grantAccess(gpu(1)));
  EXPECT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(standin->flushedTo(), toNobody);
}

} // namespace
} // namespace rdmagpu::test
