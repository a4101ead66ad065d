#include <contract/cuda_driver.hpp>
#include <contract/cuda_pinned.hpp>
#include <os/library.hpp>
#include <rdmagpu/inspect.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmagpu::test {
namespace {

constexpr std::size_t mebibyte = 1U << 20;

void* asPointer(api::DevicePtr address) { return reinterpret_cast<void*>(address); }

/// Memory that the test itself allocates, beside the library.
class CudaInspect : public testing::Test {
protected:
  ~CudaInspect() override { EXPECT_EQ(cuda.current(), primary.get()); }

  static MemoryFacts facts(const void* pointer, std::size_t size) {
    const auto told = inspect(pointer, size);
    EXPECT_TRUE(told) << told.error().message();
    return told ? *told : MemoryFacts{};
  }
  /// Checks what holds of any memory of GPU 0.
  static MemoryFacts gpuFacts(api::DevicePtr address, std::size_t size) {
    const MemoryFacts told = facts(asPointer(address), size);
    EXPECT_TRUE(told.gpu);
    if(told.gpu) {
      EXPECT_EQ(told.gpu->api, RdmaGpuApi::Cuda);
      EXPECT_EQ(told.gpu->ordinal, 0);
      EXPECT_TRUE(told.gpu->pci);
      EXPECT_FALSE(told.gpu->device.empty());
      EXPECT_EQ(told.gpu->rdmaCapable, told.peerUsable);
    }
    EXPECT_FALSE(told.why.empty());
    return told;
  }
  static void expectPastAllocation(api::DevicePtr address, std::size_t size, std::size_t left) {
    const auto told = inspect(asPointer(address), size);
    ASSERT_FALSE(told);
    EXPECT_STREQ(told.error().codeName, "PastAllocation");
    EXPECT_EQ(told.error().bytes, size);
    EXPECT_EQ(told.error().available, left);
    EXPECT_EQ(told.error().device, 0);
  }

  const CudaDriver& cuda = CudaDriver::instance();
  PrimaryOf primary{0};
  CurrentContext current{primary.get()};
};

/// Virtual memory, mapped in one or several parts.
class Virtual {
public:
  explicit Virtual(bool rdma, std::size_t parts = 1) : m_parts(parts) {
    api::AllocationProp prop;
    prop.allocFlags.gpuDirectRdmaCapable = rdma;
    EXPECT_EQ(m_cuda.memAddressReserve(&m_address, bytes(), 0, 0, 0), api::Status::Success);
    for(std::size_t i = 0; i < parts; ++i) {
      api::MemHandle handle{};
      EXPECT_EQ(m_cuda.memCreate(&handle, partBytes, &prop, 0), api::Status::Success);
      EXPECT_EQ(m_cuda.memMap(m_address + i * partBytes, partBytes, 0, handle, 0), api::Status::Success);
      EXPECT_EQ(m_cuda.memRelease(handle), api::Status::Success);
    }
  }
  Virtual(Virtual&&) = delete;
  ~Virtual() {
    EXPECT_EQ(m_cuda.memUnmap(m_address, bytes()), api::Status::Success);
    EXPECT_EQ(m_cuda.memAddressFree(m_address, bytes()), api::Status::Success);
  }
  api::DevicePtr address() const noexcept { return m_address; }
  std::size_t bytes() const noexcept { return m_parts * partBytes; }

  static constexpr std::size_t partBytes = 2 * mebibyte;

private:
  const api::Functions& m_cuda = CudaDriver::instance().functions;
  std::size_t m_parts;
  api::DevicePtr m_address{};
};

/// Memory of cuMemAlloc.
class Plain {
public:
  explicit Plain(std::size_t bytes) { EXPECT_EQ(m_cuda.memAlloc(&m_address, bytes), api::Status::Success); }
  Plain(Plain&&) = delete;
  ~Plain() { EXPECT_EQ(m_cuda.memFree(m_address), api::Status::Success); }
  api::DevicePtr address() const noexcept { return m_address; }

private:
  const api::Functions& m_cuda = CudaDriver::instance().functions;
  api::DevicePtr m_address{};
};

TEST_F(CudaInspect, SlotsOfBothKindsAreUsableByPeers) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    const auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
    ASSERT_TRUE(buffer) << buffer.error().message();
    const RdmaGpuSlot slot = buffer->slot(1);
    const auto told = facts(slot.gpuVA, slot.size);
    EXPECT_EQ(told.kind, memory == CudaMemory::Vmm ? MemoryKind::GpuVirtual : MemoryKind::Gpu);
    EXPECT_EQ(told.peerUsable, Answer::Yes);
    EXPECT_TRUE(told.aligned64K);
    EXPECT_FALSE(told.readable) << "by the CPU";
    ASSERT_TRUE(told.gpu);
    EXPECT_EQ(told.gpu->pci, buffer->facts().pci);
    EXPECT_EQ(told.gpu->syncMemops, memory == CudaMemory::Vmm ? Answer::No : Answer::Yes);
    EXPECT_LE(told.gpu->allocation, reinterpret_cast<std::uintptr_t>(buffer->slot(0).gpuVA));
    EXPECT_EQ(told.gpu->allocationBytes, buffer->facts().committedBytes);
  }
}

TEST_F(CudaInspect, PlainMemoryIsUsableAndAPartOfItIsToldFromTheWhole) {
  const Plain memory{4 * mebibyte};
  const auto told = gpuFacts(memory.address() + 5000, 100);
  EXPECT_EQ(told.kind, MemoryKind::Gpu);
  EXPECT_EQ(told.peerUsable, Answer::Yes);
  EXPECT_FALSE(told.aligned64K);
  EXPECT_EQ(told.gpu->allocation, memory.address());
  EXPECT_EQ(told.gpu->allocationBytes, 4 * mebibyte);
  EXPECT_GE(told.gpu->mappingBytes, 4 * mebibyte);
  EXPECT_EQ(told.gpu->exportable, Answer::Yes);
  EXPECT_EQ(told.gpu->syncMemops, Answer::No);
}

TEST_F(CudaInspect, VirtualMemoryWithoutTheFlagIsNotUsableThoughItCanBeExported) {
  const Virtual memory{false};
  const auto told = gpuFacts(memory.address(), memory.bytes());
  EXPECT_EQ(told.kind, MemoryKind::GpuVirtual);
  EXPECT_EQ(told.peerUsable, Answer::No);
  EXPECT_EQ(told.gpu->exportable, Answer::Yes);
  EXPECT_NE(told.why.find("gpuDirectRDMACapable"), std::string::npos);
}

TEST_F(CudaInspect, VirtualMemoryOfSeveralMappingsIsOneRange) {
  const Virtual memory{true, 3};
  const auto told = gpuFacts(memory.address() + 100, 5 * mebibyte);
  EXPECT_EQ(told.peerUsable, Answer::Yes);
  EXPECT_EQ(told.gpu->allocationBytes, memory.bytes());
  expectPastAllocation(memory.address() + 100, memory.bytes(), memory.bytes() - 100);
}

TEST_F(CudaInspect, RangePastItsAllocationIsRefused) {
  const Plain memory{4 * mebibyte};
  expectPastAllocation(memory.address() + mebibyte, 3 * mebibyte + 1, 3 * mebibyte);
  gpuFacts(memory.address() + mebibyte, 3 * mebibyte);
}

TEST_F(CudaInspect, PoolMemoryIsNotUsableThoughItCanBeExported) {
  api::DevicePtr address{};
  ASSERT_EQ(cuda.memAllocAsync(&address, 4 * mebibyte, nullptr), api::Status::Success);
  const auto told = gpuFacts(address, 4 * mebibyte);
  EXPECT_EQ(told.kind, MemoryKind::GpuPool);
  EXPECT_EQ(told.peerUsable, Answer::No);
  EXPECT_EQ(told.gpu->exportable, Answer::Yes);
  EXPECT_NE(told.why.find("pool"), std::string::npos);
  EXPECT_EQ(cuda.memFreeAsync(address, nullptr), api::Status::Success);
  EXPECT_EQ(cuda.functions.streamSynchronize(nullptr), api::Status::Success);
}

TEST_F(CudaInspect, ManagedMemoryIsNotUsable) {
  api::DevicePtr address{};
  ASSERT_EQ(cuda.memAllocManaged(&address, mebibyte, 1), api::Status::Success);
  const auto told = gpuFacts(address, mebibyte);
  EXPECT_EQ(told.kind, MemoryKind::Managed);
  EXPECT_EQ(told.peerUsable, Answer::No);
  EXPECT_TRUE(told.readable);
  EXPECT_EQ(told.gpu->exportable, Answer::No);
  EXPECT_NE(told.why.find("managed"), std::string::npos);
  EXPECT_EQ(cuda.functions.memFree(address), api::Status::Success);
}

TEST_F(CudaInspect, PinnedHostMemoryHasWhatTheKernelKnowsToo) {
  const auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                           .slotCount = 2,
                                           .frameBytes = 100,
                                           .host = {.gpuPin = GpuPin::Require}});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto told = facts(buffer->slot(1).gpuVA, buffer->slot(1).size);
  EXPECT_EQ(told.kind, MemoryKind::PinnedHost);
  EXPECT_EQ(told.peerUsable, Answer::Yes) << told.why;
  EXPECT_NE(told.mapping.find("memfd:rdmagpu"), std::string::npos);
  EXPECT_EQ(told.residentBytes, buffer->slot(1).size);
  ASSERT_TRUE(told.gpu);
  EXPECT_EQ(told.gpu->exportable, Answer::No);
  EXPECT_EQ(told.gpu->rdmaCapable, Answer::No);
}

TEST_F(CudaInspect, MemoryThatCudaAllocatedOnTheHostIsPinned) {
  void* host{};
  ASSERT_EQ(cuda.functions.memHostAlloc(&host, mebibyte, api::HostAllocFlags{}), api::Status::Success);
  const auto told = facts(host, mebibyte);
  EXPECT_EQ(told.kind, MemoryKind::PinnedHost);
  EXPECT_TRUE(told.writable);
  EXPECT_TRUE(told.gpu);
  EXPECT_EQ(cuda.functions.memFreeHost(host), api::Status::Success);
}

TEST_F(CudaInspect, MemoryThatIsPinnedInPartIsTheKernelsToTell) {
  std::vector<std::byte> heap(3 * mebibyte);
  ASSERT_EQ(cuda.functions.memHostRegister(heap.data(), mebibyte, api::HostRegisterFlags::Portable),
            api::Status::Success);
  const auto told = facts(heap.data(), heap.size());
  EXPECT_EQ(told.kind, MemoryKind::Private);
  EXPECT_FALSE(told.gpu);
  EXPECT_EQ(cuda.functions.memHostUnregister(heap.data()), api::Status::Success);
}

TEST_F(CudaInspect, MemoryThatCudaDoesNotKnowIsTheKernelsToTell) {
  const std::vector<std::byte> heap(mebibyte);
  const auto told = facts(heap.data(), heap.size());
  EXPECT_EQ(told.kind, MemoryKind::Private);
  EXPECT_FALSE(told.gpu);
}

TEST_F(CudaInspect, FreedMemoryIsNoGpusAnyMore) {
  api::DevicePtr address{};
  ASSERT_EQ(cuda.functions.memAlloc(&address, 64 * mebibyte), api::Status::Success);
  ASSERT_EQ(cuda.functions.memFree(address), api::Status::Success);
  const auto told = inspect(asPointer(address), mebibyte);
  EXPECT_TRUE(!told || !told->gpu);
  EXPECT_TRUE(!told || told->peerUsable != Answer::Yes) << told->why;
}

TEST(CudaInspectContext, NoneIsMadeAndNoneNeeded) {
  const CudaDriver& cuda = CudaDriver::instance();
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer) << buffer.error().message();
  ASSERT_EQ(cuda.current(), nullptr);
  const auto told = inspect(buffer->slot(0).gpuVA, 100);
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_TRUE(told->gpu);
  EXPECT_EQ(cuda.current(), nullptr);
  EXPECT_FALSE(cuda.primaryIsActive());
}

TEST(CudaInspectDriver, IsNotLoadedToLookAtMemory) {
  if(os::Library::isLoaded("libcuda.so.1"))
    GTEST_SKIP() << "this process has loaded the driver already";
  const int local{};
  ASSERT_TRUE(inspect(&local, sizeof local));
  EXPECT_FALSE(os::Library::isLoaded("libcuda.so.1"));
}

TEST(CudaInspectDriver, IsNotInitialisedToLookAtMemory) {
  auto library = os::Library::open("libcuda.so.1");
  ASSERT_TRUE(library);
  CudaStandin standin{*library};
  if(!standin.isThere())
    GTEST_SKIP() << "on a real driver calls cannot be counted";
  standin.failCall(0);
  const int local{};
  EXPECT_TRUE(inspect(&local, sizeof local));
  EXPECT_EQ(standin.calls("cuInit"), 0);
}

class CudaInspectOnStandin : public OnCudaStandin {};

TEST_F(CudaInspectOnStandin, GpuWithoutRdmaIsTheReason) {
  standin->profile("geforce");
  const PrimaryOf primary{0};
  const CurrentContext current{primary.get()};
  const Plain memory{mebibyte};
  const auto told = inspect(asPointer(memory.address()), mebibyte);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->peerUsable, Answer::No);
  EXPECT_NE(told->why.find("this GPU"), std::string::npos) << told->why;
}

TEST_F(CudaInspectOnStandin, WithoutDmaBufNoExportCanBeTried) {
  standin->profile("no-dma-buf");
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  ASSERT_TRUE(buffer);
  const auto told = inspect(buffer->slot(0).gpuVA, 100);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->peerUsable, Answer::Yes);
  EXPECT_EQ(told->gpu->exportable, Answer::No);
}

TEST_F(CudaInspectOnStandin, SecondGpuIsNamed) {
  auto config = cudaConfig();
  config.cudaDevice = 1;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  const auto told = inspect(buffer->slot(0).gpuVA, 100);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->gpu->ordinal, 1);
  EXPECT_EQ(told->gpu->pci, buffer->facts().pci);
}

} // namespace
} // namespace rdmagpu::test
