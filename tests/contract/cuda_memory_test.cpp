#include <contract/cuda_driver.hpp>
#include <rdmagpu/backends.hpp>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <variant>

namespace rdmagpu::test {
namespace {

std::string refusedCall(const RdmaGpuBufferConfig& config) {
  const auto made = RdmaGpuBuffer::make(config);
  if(made)
    return "";
  EXPECT_EQ(made.error().kind, Errc::Unsupported) << made.error().message();
  EXPECT_FALSE(made.error().hints().empty()) << made.error().message();
  EXPECT_EQ(made.error().device, 0);
  return made.error().call;
}

auto openDescriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                       std::filesystem::directory_iterator{});
}

TEST(CudaMemoryKind, VmmFactsSayWhatItIs) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const BufferFacts& facts = buffer->facts();
  EXPECT_EQ(facts.cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(facts.rdmaCapable, Answer::Yes);
  EXPECT_EQ(facts.regionCount, 1U);
  EXPECT_EQ(facts.pageBytes, 2U << 20);
  EXPECT_EQ(facts.committedBytes % facts.pageBytes, 0U);
  EXPECT_TRUE(facts.pci);
  EXPECT_FALSE(facts.device.empty());
  EXPECT_TRUE(facts.tolerated.empty());
  EXPECT_EQ(facts.syncMemops, Answer::No);
  EXPECT_STREQ(facts.syncMemopsError.call, "cuPointerSetAttribute");
  EXPECT_STREQ(facts.syncMemopsError.codeName, "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_EQ(facts.syncMemopsError.device, 0);
  EXPECT_EQ(buffer->proof().capable, Answer::Yes);
  EXPECT_TRUE(std::holds_alternative<CudaPointer>(buffer->handoff(0)));
}

TEST(CudaMemoryKind, MemAllocFactsSayWhatItIs) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::MemAlloc));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::MemAlloc);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Yes);
  EXPECT_TRUE(buffer->facts().tolerated.empty());
  EXPECT_EQ(buffer->facts().syncMemops, Answer::Yes);
  EXPECT_EQ(buffer->facts().syncMemopsError.kind, Errc::None);
  EXPECT_EQ(buffer->facts().committedBytes, 4U * 131072 + 65536);
}

TEST(CudaMemoryKind, ExportsAreCloseOnExec) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto slot = buffer->exportSlot(2);
  ASSERT_TRUE(slot) << slot.error().message();
  EXPECT_EQ(fcntl(slot->fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(slot->offset(), 0U);
}

class CudaMachine : public OnCudaStandin {};

TEST_F(CudaMachine, SyncMemopsIsTriedOnceAndItsFailureRecorded) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    const int before = standin->calls("cuPointerSetAttribute");
    standin->failNamed("cuPointerSetAttribute", api::Status::Unknown);
    const auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
    standin->failNamed("", api::Status::Success);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(standin->calls("cuPointerSetAttribute") - before, 1);
    EXPECT_EQ(buffer->facts().syncMemops, Answer::No);
    EXPECT_STREQ(buffer->facts().syncMemopsError.codeName, "CUDA_ERROR_UNKNOWN");
    EXPECT_TRUE(buffer->facts().tolerated.empty());
  }
}

TEST_F(CudaMachine, SyncMemopsOfVmmMemoryNeedsNoContext) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  EXPECT_STREQ(buffer->facts().syncMemopsError.codeName, "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_EQ(standin->calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST_F(CudaMachine, SyncMemopsOfVmmMemoryIsNotCalledAMatterOfTheDriversAge) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  const auto hints = buffer->facts().syncMemopsError.hints();
  ASSERT_FALSE(hints.empty());
  EXPECT_NE(std::string{hints.front()}.find("for that memory only"), std::string::npos);
  for(const std::string hint : hints)
    EXPECT_EQ(hint.find("Update"), std::string::npos) << hint;
}

TEST_F(CudaMachine, AutoTakesVmmWhereItIsOffered) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(standin->calls("cuMemCreate"), 1) << "one for all slots";
}

TEST_F(CudaMachine, WithoutRdmaInVmmAutoTakesMemAlloc) {
  standin->profile("no-vmm-rdma");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::MemAlloc);
  EXPECT_EQ(standin->calls("cuMemCreate"), 0);
  EXPECT_EQ(refusedCall(cudaConfig(CudaMemory::Vmm)),
            "CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED");
}

TEST_F(CudaMachine, CapabilityIsAskedOfTheMemoryItself) {
  standin->profile("flag-ignored");
  EXPECT_EQ(refusedCall(cudaConfig(CudaMemory::Vmm)), "CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE");
}

TEST_F(CudaMachine, MemoryThatCannotBeReachedIsReplacedByTheOtherKindWithTheReason) {
  standin->profile("flag-ignored");
  {
    const auto buffer = RdmaGpuBuffer::make(cudaConfig());
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().cudaMemory, CudaMemory::MemAlloc);
    EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Yes);
    EXPECT_STREQ(buffer->facts().cudaMemoryReason.call, "CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE");
  }
  standin->failNamed("cuMemAlloc_v2", api::Status::OutOfMemory);
  EXPECT_STREQ(RdmaGpuBuffer::make(cudaConfig()).error().call, "cuMemAlloc_v2") << "what failed last";
}

TEST_F(CudaMachine, ReasonIsToldWhereAutoTakesPlainMemory) {
  const auto reasonOn = [&](const char* profile, CudaMemory asked) {
    standin->profile(profile);
    const auto buffer = RdmaGpuBuffer::make(cudaConfig(asked));
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? buffer->facts().cudaMemoryReason : Error{};
  };
  EXPECT_STREQ(reasonOn("no-vmm", CudaMemory::Auto).codeName, "VmmAbsent");
  EXPECT_STREQ(reasonOn("no-vmm-rdma", CudaMemory::Auto).codeName, "NotRdmaCapable");
  EXPECT_EQ(reasonOn("no-vmm", CudaMemory::MemAlloc).kind, Errc::None) << "it was asked for";
  EXPECT_EQ(reasonOn("h200", CudaMemory::Auto).kind, Errc::None);
}

TEST_F(CudaMachine, GpuWithoutRdmaIsRefusedAndAutoPassesItOver) {
  standin->profile("geforce");
  for(const CudaMemory memory : {CudaMemory::Auto, CudaMemory::Vmm, CudaMemory::MemAlloc})
    EXPECT_EQ(refusedCall(cudaConfig(memory)), "CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED");
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  ASSERT_EQ(buffer->selection().size(), 1U);
  EXPECT_EQ(buffer->selection().front().api, RdmaGpuApi::Cuda);
  EXPECT_STREQ(buffer->selection().front().error.codeName, "NotRdmaCapable");
}

TEST_F(CudaMachine, AutoTakesCudaWhereItCan) {
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::Cuda);
}

RdmaGpuBufferConfig autoConfig(Handoffs accepts) {
  auto config = cudaConfig();
  config.api = RdmaGpuApi::Auto;
  config.accepts = accepts;
  return config;
}

TEST_F(CudaMachine, AutoTakesCudaForAPeerOfDmaBufs) {
  for(const Handoffs& accepts :
      {Handoffs{HandoffKind::DmaBuf}, Handoffs{HandoffKind::DmaBuf, HandoffKind::HostPointer}}) {
    for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
      auto config = autoConfig(accepts);
      config.cudaMemory = memory;
      EXPECT_GT(*RdmaGpuBuffer::maxSlots(config), 1000U);
      standin->failCall(0);
      const auto buffer = RdmaGpuBuffer::make(config);
      ASSERT_TRUE(buffer) << buffer.error().message();
      EXPECT_EQ(buffer->backend(), RdmaGpuApi::Cuda);
      EXPECT_EQ(buffer->facts().cudaMemory, memory);
      EXPECT_EQ(buffer->proof().exported, Answer::Yes) << "which is why it was taken";
      EXPECT_TRUE(buffer->selection().empty());
      const auto exported = buffer->exportRegion();
      ASSERT_TRUE(exported) << exported.error().message();
      EXPECT_EQ(exported->size(), buffer->slotCount() * buffer->facts().slotStride);
      EXPECT_EQ(standin->calls("cuMemGetHandleForAddressRange"), 1) << "not exported anew";
    }
  }
}

TEST_F(CudaMachine, AutoExportsNothingForAPeerOfDevicePointers) {
  const auto buffer = RdmaGpuBuffer::make(autoConfig({HandoffKind::CudaPointer, HandoffKind::DmaBuf}));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::Cuda);
  EXPECT_EQ(buffer->proof().exported, Answer::Unknown);
  EXPECT_EQ(standin->calls("cuMemGetHandleForAddressRange"), 0);
}

TEST_F(CudaMachine, AutoPassesOverWhatIsNotExportedForAPeerOfDmaBufs) {
  standin->profile("no-dma-buf");
  const auto config = autoConfig({HandoffKind::DmaBuf, HandoffKind::HostPointer});
  EXPECT_TRUE(RdmaGpuBuffer::maxSlots(config)) << "those of host memory";
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  ASSERT_EQ(buffer->selection().size(), 1U);
  EXPECT_STREQ(buffer->selection().front().error.call, "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED");
  EXPECT_EQ(standin->calls("cuMemCreate"), 0);
}

TEST_F(CudaMachine, AutoPassesOverExportsThatAreOfferedAndFail) {
  standin->failNamed("cuMemGetHandleForAddressRange", api::Status::NotSupported);
  const auto buffer = RdmaGpuBuffer::make(autoConfig({HandoffKind::DmaBuf, HandoffKind::HostPointer}));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  ASSERT_EQ(buffer->selection().size(), 1U);
  EXPECT_STREQ(buffer->selection().front().error.call, "cuMemGetHandleForAddressRange");
}

TEST_F(CudaMachine, IntegratedGpuIsRefusedWithItsReason) {
  standin->profile("integrated");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, Errc::Unsupported);
  EXPECT_STREQ(buffer.error().codeName, "IntegratedGpu");
  EXPECT_FALSE(buffer.error().hints().empty());
}

TEST_F(CudaMachine, WithoutDmaBufTheExportSaysWhy) {
  standin->profile("no-dma-buf");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer);
  const auto exported = buffer->exportRegion();
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().kind, Errc::Unsupported);
  EXPECT_STREQ(exported.error().call, "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED");
  EXPECT_FALSE(exported.error().hints().empty());
}

TEST_F(CudaMachine, ExportOfAnotherSizeIsRefusedAndItsDescriptorClosed) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const std::uint64_t stride = buffer->facts().slotStride;
  const auto descriptors = openDescriptors();
  const auto expect = [&](const Result<DmaBuf>& exported, const char* code, std::uint64_t asked,
                          std::uint64_t got) {
    ASSERT_FALSE(exported);
    EXPECT_EQ(exported.error().kind, Errc::Internal);
    EXPECT_STREQ(exported.error().codeName, code);
    EXPECT_EQ(exported.error().bytes, asked);
    EXPECT_EQ(exported.error().available, got);
    EXPECT_FALSE(exported.error().hints().empty());
  };
  standin->exportsMore(-4096);
  expect(buffer->exportSlot(1), "ExportTooSmall", stride, stride - 4096);
  expect(buffer->exportRegion(), "ExportTooSmall", 4 * stride, 4 * stride - 4096);
  standin->exportsMore(4096);
  expect(buffer->exportSlot(1), "ExportTooLarge", stride, stride + 4096);
  expect(buffer->exportRegion(), "ExportTooLarge", 4 * stride, 4 * stride + 4096);
  EXPECT_EQ(openDescriptors(), descriptors);
  EXPECT_EQ(buffer->proof().exported, Answer::No);
  standin->exportsMore(0);
  EXPECT_TRUE(buffer->exportSlot(1));
  EXPECT_TRUE(buffer->exportRegion());
}

TEST_F(CudaMachine, WithoutShareableHandlesSlotsAreMadeButNotShared) {
  standin->profile("no-posix-fd");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_TRUE(buffer->facts().tolerated.empty());
  EXPECT_STREQ(buffer->share().error().codeName, "NotShareable");
}

TEST_F(CudaMachine, FlushIsCalledOnlyWhereWritesAreNotOrdered) {
  {
    const auto ordered = RdmaGpuBuffer::make(cudaConfig());
    ASSERT_TRUE(ordered);
    EXPECT_FALSE(ordered->facts().writesNeedFlush);
    EXPECT_TRUE(ordered->flushPeerWrites());
    EXPECT_EQ(standin->calls("cuFlushGPUDirectRDMAWrites"), 0);
  }
  standin->profile("unordered");
  const auto unordered = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(unordered);
  EXPECT_TRUE(unordered->facts().writesNeedFlush);
  EXPECT_TRUE(unordered->flushPeerWrites());
  EXPECT_EQ(standin->calls("cuFlushGPUDirectRDMAWrites"), 1);
}

TEST_F(CudaMachine, WritesAreDoneWhenACallReturns) {
  auto config = cudaConfig();
  config.zeroFill = true;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(standin->unfinished(), 0);
  std::array<std::byte, 100> bytes{};
  ASSERT_TRUE(buffer->upload(0, bytes));
  EXPECT_EQ(standin->unfinished(), 0);
}

TEST_F(CudaMachine, ScrubOverwritesBeforeTheMemoryIsGivenBack) {
  auto config = cudaConfig();
  config.scrubOnDestroy = true;
  auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  standin->failCall(0);
  buffer->destroy();
  EXPECT_EQ(standin->calls("cuMemsetD8_v2"), 1);
}

TEST_F(CudaMachine, NoGpuIsUnavailableWithTheReason) {
  standin->profile("no-device");
  const auto found = backends();
  const auto it = std::find_if(found.begin(), found.end(),
                               [](const BackendInfo& info) { return info.api == RdmaGpuApi::Cuda; });
  ASSERT_NE(it, found.end());
  EXPECT_FALSE(it->available);
  EXPECT_EQ(it->reason.kind, Errc::NotFound);
  EXPECT_STREQ(it->reason.codeName, "CUDA_ERROR_NO_DEVICE");
  EXPECT_TRUE(it->devices.empty());
}

TEST_F(CudaMachine, GpusThatCannotBeUsedAreListedAllTheSame) {
  standin->profile("geforce");
  const auto found = backends();
  ASSERT_EQ(found.front().api, RdmaGpuApi::Cuda);
  EXPECT_FALSE(found.front().available);
  EXPECT_STREQ(found.front().reason.codeName, "NotRdmaCapable");
  ASSERT_EQ(found.front().devices.size(), 2U);
  EXPECT_EQ(found.front().devices.front().rdmaCapable, Answer::No);
}

} // namespace
} // namespace rdmagpu::test
