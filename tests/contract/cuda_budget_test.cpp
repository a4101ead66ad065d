#include <backend/cuda_budget.hpp>
#include <contract/cuda_driver.hpp>
#include <os/library.hpp>
#include <support/log_capture.hpp>
#include <support/temp_tree.hpp>

#include <cstdint>
#include <filesystem>

namespace rdmagpu::test {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t granule = std::uint64_t{2} << 20;

/// With the stand-in of NVIDIA's management library, which must be beside the driver's.
class CudaBudget : public OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    if(IsSkipped())
      return;
    auto library = os::Library::open("libnvidia-ml.so.1");
    ASSERT_TRUE(library);
    m_free = reinterpret_cast<Free*>(library->find("rdmagpu_standin_nvml_free"));
    m_answers = reinterpret_cast<Answers*>(library->find("rdmagpu_standin_nvml_answers"));
    ASSERT_TRUE(m_free && m_answers);
  }
  void TearDown() override {
    if(m_free) {
      m_free(141 * gibibyte, 256 * gibibyte);
      m_answers(1);
    }
    OnCudaStandin::TearDown();
  }

  void free(std::uint64_t memory, std::uint64_t bar1) { m_free(memory, bar1); }
  void answers(bool yes) { m_answers(yes); }

  /// Slots of 1 GiB that fit.
  static std::uint32_t mostSlots() {
    auto config = cudaConfig();
    config.frameBytes = gibibyte;
    const auto most = RdmaGpuBuffer::maxSlots(config);
    EXPECT_TRUE(most) << most.error().message();
    return most ? *most : 0;
  }

private:
  using Free = void(std::uint64_t, std::uint64_t);
  using Answers = void(int);
  Free* m_free{};
  Answers* m_answers{};
};

TEST_F(CudaBudget, IsTheSmallerOfFreeMemoryAndFreeBar1LessAReserve) {
  free(16 * gibibyte, 256 * gibibyte);
  EXPECT_EQ(mostSlots(), 14U);
  free(16 * gibibyte, 8 * gibibyte);
  EXPECT_EQ(mostSlots(), 7U);
}

TEST_F(CudaBudget, MoreThanItIsRefusedWithTheNumbersUnlessOverridden) {
  free(16 * gibibyte, std::uint64_t{256} << 10);
  auto config = cudaConfig();
  const auto refused = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "DeviceBudgetExceeded");
  EXPECT_EQ(refused.error().bytes, 4U * 131072);
  EXPECT_EQ(refused.error().available, 0U) << "virtual memory management's comes by 2 MiB";
  EXPECT_NE(refused.error().message().find(", available 0"), std::string::npos) << refused.error().message();
  EXPECT_FALSE(refused.error().hints().empty());
  config.ignoreBudget = true;
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
}

/// Slots of 64 KiB in a window of which `slots` fit, a reserve of an eighth and 32 KiB aside.
TEST_F(CudaBudget, SlotsBelowTheGranularityFitAsManyAsAreMade) {
  constexpr std::uint64_t stride = 65536;
  const auto windowFor = [](std::uint64_t slots) { return (slots * stride + stride / 2) / 7 * 8; };
  struct Case {
    CudaMemory memory;
    std::uint64_t room; ///< In slots.
    std::uint32_t most;
  };
  for(const Case& c :
      {Case{CudaMemory::Vmm, 31, 0}, Case{CudaMemory::Vmm, 32, 32}, Case{CudaMemory::Vmm, 63, 32},
       Case{CudaMemory::Vmm, 64, 64}, Case{CudaMemory::MemAlloc, 1, 0}, Case{CudaMemory::MemAlloc, 2, 1},
       Case{CudaMemory::MemAlloc, 31, 30}}) {
    free(16 * gibibyte, windowFor(c.room));
    auto config = cudaConfig(c.memory);
    config.frameBytes = 1000;
    const auto most = RdmaGpuBuffer::maxSlots(config);
    ASSERT_TRUE(most) << most.error().message();
    EXPECT_EQ(*most, c.most) << name(c.memory) << " in room for " << c.room;
    config.slotCount = *most + 1;
    const auto refused = RdmaGpuBuffer::make(config);
    ASSERT_FALSE(refused) << name(c.memory) << " in room for " << c.room;
    EXPECT_STREQ(refused.error().codeName, "DeviceBudgetExceeded");
    EXPECT_EQ(refused.error().bytes, (*most + 1) * stride);
    EXPECT_LT(refused.error().available, refused.error().bytes);
    if(*most == 0)
      continue;
    config.slotCount = *most;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_LE(buffer->facts().committedBytes, windowFor(c.room) / 8 * 7);
    EXPECT_EQ(buffer->facts().bar1Slots, c.most);
  }
}

TEST_F(CudaBudget, GranularityThatCannotBeAskedForIsWhatMakeFailsBy) {
  free(16 * gibibyte, gibibyte);
  standin->failNamed("cuMemGetAllocationGranularity", api::Status::Unknown);
  const LogCapture log;
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(cudaConfig(CudaMemory::Vmm)), 7 * (gibibyte / 8) / 131072);
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "cuMemGetAllocationGranularity");
  EXPECT_STREQ(RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm)).error().call,
               "cuMemGetAllocationGranularity");
}

TEST_F(CudaBudget, MemoryThatRunsOutIsNotToldOfAsFreeWhereNobodyKnows) {
  free(16 * gibibyte, 256 * gibibyte);
  standin->failNamed("cuMemCreate", api::Status::OutOfMemory);
  EXPECT_EQ(RdmaGpuBuffer::make(cudaConfig()).error().available, 16 * gibibyte);
  answers(false);
  const Error error = RdmaGpuBuffer::make(cudaConfig()).error();
  EXPECT_EQ(error.kind, Errc::OutOfMemory);
  EXPECT_EQ(error.bytes, std::uint64_t{2} << 20);
  EXPECT_EQ(error.available, 0U);
  EXPECT_EQ(error.total, 141 * gibibyte);
  EXPECT_NE(error.message().find("; asked 2097152, of 151397597184 in all"), std::string::npos)
      << error.message();
  EXPECT_FALSE(CudaDriver::instance().primaryIsActive()) << "no context was made for the question";
}

TEST_F(CudaBudget, FactsSayHowManySlotsBar1HasRoomForLessTheReserve) {
  free(16 * gibibyte, gibibyte / 4);
  auto config = cudaConfig();
  config.frameBytes = std::size_t{32} << 20;
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(config), 7U);
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().bar1Slots, 7U);
  config.rdma = GpuRdma::Off;
  const auto unreached = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(unreached) << unreached.error().message();
  EXPECT_EQ(unreached->facts().bar1Slots, std::nullopt) << "no peer goes through it";
}

TEST_F(CudaBudget, IsAllThatTheGpuHasWhereNobodyTellsWhatIsFree) {
  answers(false);
  EXPECT_EQ(mostSlots(), 123U);
  EXPECT_EQ(standin->calls("cuDeviceTotalMem_v2"), 1);
}

/// Where the management library does not answer, and 40 GiB of the memory are taken.
class CudaBudgetOfContext : public CudaBudget {
protected:
  void SetUp() override {
    CudaBudget::SetUp();
    if(IsSkipped())
      return;
    answers(false);
    const api::AllocationProp prop;
    ASSERT_EQ(cuda.functions.memCreate(&m_taken, 40 * gibibyte, &prop, 0ULL), api::Status::Success);
  }
  void TearDown() override {
    if(m_taken != api::MemHandle{}) {
      EXPECT_EQ(cuda.functions.memRelease(m_taken), api::Status::Success);
    }
    CudaBudget::TearDown();
  }

  /// Does that with a context of a GPU current.
  template <class Body>
  void inContextOf(int gpu, Body body) const {
    const auto device = static_cast<api::Device>(gpu);
    api::Context context{};
    ASSERT_EQ(cuda.functions.primaryCtxRetain(&context, device), api::Status::Success);
    ASSERT_EQ(cuda.ctxSetCurrent(context), api::Status::Success);
    body();
    EXPECT_EQ(cuda.current(), context);
    EXPECT_EQ(cuda.ctxSetCurrent(nullptr), api::Status::Success);
    EXPECT_EQ(cuda.functions.primaryCtxRelease(device), api::Status::Success);
  }
  std::uint64_t availableWhenNothingIsLeft() const {
    standin->failNamed("cuMemCreate", api::Status::OutOfMemory);
    const Error error = RdmaGpuBuffer::make(cudaConfig()).error();
    standin->failNamed("", api::Status::Success);
    EXPECT_EQ(error.kind, Errc::OutOfMemory);
    return error.available;
  }

  const CudaDriver& cuda = CudaDriver::instance();

private:
  api::MemHandle m_taken{};
};

TEST_F(CudaBudgetOfContext, IsWhatIsFreeWhereOneIsCurrentOnTheGpu) {
  inContextOf(0, [&] {
    EXPECT_EQ(mostSlots(), 88U) << "of 101 GiB less an eighth";
    EXPECT_EQ(availableWhenNothingIsLeft(), 101 * gibibyte);
  });
}

TEST_F(CudaBudgetOfContext, IsNotKnownWhereNoneIs) {
  const auto unknown = [&] {
    EXPECT_EQ(mostSlots(), 123U) << "of all that there is";
    EXPECT_EQ(availableWhenNothingIsLeft(), 0U);
  };
  unknown();
  inContextOf(1, unknown);
  EXPECT_FALSE(cuda.primaryIsActive()) << "none is made for it";
}

TEST_F(CudaBudgetOfContext, IsWhatIsFreeWhereThePrimaryOneIsRetained) {
  api::Context context{};
  ASSERT_EQ(cuda.functions.primaryCtxRetain(&context, api::Device{}), api::Status::Success);
  EXPECT_EQ(mostSlots(), 88U) << "of 101 GiB less an eighth";
  EXPECT_EQ(availableWhenNothingIsLeft(), 101 * gibibyte);
  EXPECT_EQ(cuda.current(), nullptr);
  inContextOf(1, [&] { EXPECT_EQ(mostSlots(), 88U) << "though another GPU's is current"; });
  EXPECT_EQ(cuda.functions.primaryCtxRelease(api::Device{}), api::Status::Success);
  EXPECT_FALSE(cuda.primaryIsActive()) << "it was given back as often as it was retained";
}

TEST_F(CudaBudgetOfContext, PlainMemoryThatRunsOutTellsWhatIsFreeInTheContextThatItWasToLiveIn) {
  auto config = cudaConfig(CudaMemory::MemAlloc);
  config.frameBytes = 30 * gibibyte;
  config.ignoreBudget = true;
  const Error error = RdmaGpuBuffer::make(config).error();
  EXPECT_STREQ(error.call, "cuMemAlloc_v2");
  EXPECT_EQ(error.bytes, 120 * gibibyte + 65536);
  EXPECT_EQ(error.available, 101 * gibibyte);
  EXPECT_EQ(error.total, 0U);
  standin->failNamed("cuMemGetInfo_v2", api::Status::Unknown);
  const Error unknown = RdmaGpuBuffer::make(config).error();
  EXPECT_EQ(unknown.available, 0U);
  EXPECT_EQ(unknown.total, 141 * gibibyte);
  standin->failNamed("", api::Status::Success);
  EXPECT_FALSE(cuda.primaryIsActive());
}

TEST_F(CudaBudgetOfContext, ManagementLibraryIsAskedFirst) {
  answers(true);
  free(16 * gibibyte, 256 * gibibyte);
  inContextOf(0, [&] {
    EXPECT_EQ(mostSlots(), 14U);
    EXPECT_EQ(standin->calls("cuMemGetInfo_v2"), 0);
  });
}

TEST_F(CudaBudgetOfContext, QuestionThatFailsIsLoggedAndLeavesItUnknown) {
  inContextOf(0, [&] {
    const LogCapture log;
    standin->failNamed("cuMemGetInfo_v2", api::Status::Unknown);
    EXPECT_EQ(mostSlots(), 123U);
    standin->failNamed("cuCtxGetDevice", api::Status::Unknown);
    EXPECT_EQ(mostSlots(), 123U);
    standin->failNamed("", api::Status::Success);
    ASSERT_EQ(log.errors().size(), 2U);
    EXPECT_STREQ(log.errors().front().call, "cuMemGetInfo_v2");
    EXPECT_STREQ(log.errors().back().call, "cuCtxGetDevice");
  });
  const LogCapture log;
  standin->failNamed("cuDevicePrimaryCtxGetState", api::Status::Unknown);
  EXPECT_EQ(mostSlots(), 123U);
  standin->failNamed("", api::Status::Success);
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "cuDevicePrimaryCtxGetState");
}

TEST_F(CudaBudget, Bar1ThatIsAskedForIsInTheFacts) {
  free(16 * gibibyte, gibibyte);
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().bar1Bytes, 256 * gibibyte);
  EXPECT_EQ(buffer->facts().bar1FreeBytes, gibibyte);
}

TEST_F(CudaBudget, Bar1IsNotAskedForWhereItCoversTheMemory) {
  free(gibibyte, gibibyte);
  auto gpu = *backend::cuda::describeGpu(CudaDriver::instance().functions, 0);
  gpu.bar1Bytes = gpu.totalBytes;
  const auto covers = backend::cuda::readBar1(gpu);
  EXPECT_EQ(covers.bytes, gpu.totalBytes);
  EXPECT_TRUE(covers.coversMemory);
  EXPECT_FALSE(covers.freeBytes);

  gpu.bar1Bytes = gpu.totalBytes - 1;
  const auto smaller = backend::cuda::readBar1(gpu);
  EXPECT_FALSE(smaller.coversMemory);
  EXPECT_EQ(smaller.freeBytes, gibibyte);
}

TEST_F(CudaBudgetOfContext, WindowThatTheKernelTellsIsTheBudgetWithoutManagement) {
  auto gpu = *backend::cuda::describeGpu(cuda.functions, 0);
  gpu.bar1Bytes = gibibyte / 4;
  const auto told = backend::cuda::readBar1(gpu);
  EXPECT_FALSE(told.coversMemory);
  EXPECT_EQ(told.bytes, gibibyte / 4);
  EXPECT_EQ(told.freeBytes, gibibyte / 4) << "what of it is free nobody can tell";
  gpu.bar1Bytes = 0;
  EXPECT_FALSE(backend::cuda::readBar1(gpu).freeBytes);
}

/// Peers see 256 MiB, as the kernel tells; what of it is free nobody does.
class CudaSmallWindow : public CudaBudgetOfContext {
protected:
  void SetUp() override {
    CudaBudgetOfContext::SetUp();
    if(IsSkipped())
      return;
    auto gpu = *backend::cuda::describeGpu(cuda.functions, 0);
    gpu.bar1Bytes = gibibyte / 4;
    backend::cuda::pretendGpu(gpu);
  }
  void TearDown() override {
    backend::cuda::forgetGpus();
    CudaBudgetOfContext::TearDown();
  }

  static RdmaGpuBufferConfig slotsOf32MiB(std::uint32_t count) {
    auto config = cudaConfig();
    config.slotCount = count;
    config.frameBytes = std::size_t{32} << 20;
    return config;
  }
};

TEST_F(CudaSmallWindow, BudgetIsLessWhatThisProcessHoldsReachable) {
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(slotsOf32MiB(1)), 7U) << "of 256 MiB less an eighth";
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    auto wanted = slotsOf32MiB(4);
    wanted.cudaMemory = memory;
    auto first = RdmaGpuBuffer::make(wanted);
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(first->facts().bar1FreeBytes, gibibyte / 4);

    wanted.cudaMemory = CudaMemory::Vmm;
    const auto second = RdmaGpuBuffer::make(wanted);
    ASSERT_FALSE(second) << "each fits the window, both do not";
    EXPECT_STREQ(second.error().codeName, "DeviceBudgetExceeded");
    EXPECT_EQ(second.error().bytes, gibibyte / 8);
    const std::uint64_t left = gibibyte / 4 - first->facts().committedBytes;
    EXPECT_EQ(second.error().available, (left - left / 8) / granule * granule);
    EXPECT_EQ(*RdmaGpuBuffer::maxSlots(wanted), 3U);
    wanted.slotCount = 3;
    const auto fitting = RdmaGpuBuffer::make(wanted);
    ASSERT_TRUE(fitting) << fitting.error().message();
    EXPECT_EQ(fitting->facts().bar1FreeBytes, left);

    auto held = first->exportRegion();
    first->destroy();
    EXPECT_EQ(*RdmaGpuBuffer::maxSlots(wanted), 0U) << "an export holds the memory";
    held = DmaBuf{};
    EXPECT_EQ(*RdmaGpuBuffer::maxSlots(wanted), 4U);
  }
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(slotsOf32MiB(1)), 7U);
}

TEST_F(CudaSmallWindow, MemoryThatNoPeerIsToReachTakesNoneOfIt) {
  auto wanted = slotsOf32MiB(8);
  wanted.rdma = GpuRdma::Off;
  const auto unreached = RdmaGpuBuffer::make(wanted);
  ASSERT_TRUE(unreached) << unreached.error().message();
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(slotsOf32MiB(1)), 7U);
}

TEST_F(CudaSmallWindow, OfAnotherGpuIsNotTaken) {
  auto gpu = *backend::cuda::describeGpu(cuda.functions, 1);
  gpu.bar1Bytes = gibibyte / 4;
  backend::cuda::pretendGpu(gpu);
  const auto first = RdmaGpuBuffer::make(slotsOf32MiB(4));
  ASSERT_TRUE(first) << first.error().message();
  auto other = slotsOf32MiB(7);
  other.cudaDevice = 1;
  EXPECT_TRUE(RdmaGpuBuffer::make(other));
}

TEST_F(CudaSmallWindow, ManagementLibraryThatTellsWhatIsFreeHasCountedIt) {
  answers(true);
  free(100 * gibibyte, gibibyte / 8);
  const auto first = RdmaGpuBuffer::make(slotsOf32MiB(1));
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(slotsOf32MiB(1)), 3U);
}

TEST(CudaBar1, IsTheRegisterBehindBar0WhichMayTakeUpTwoNumbers) {
  const PciAddress gpu{.bus = 0x3b};
  const TempTree tree;
  EXPECT_EQ(backend::cuda::bar1Window(gpu, tree.root()), 0U);
  const auto addRegister = [&](const std::string& name, std::uint64_t bytes) {
    const std::string file = "/sys/bus/pci/devices/" + gpu.text() + "/" + name;
    tree.write(file, "");
    std::filesystem::resize_file(tree.root() + file, bytes);
  };
  addRegister("resource2", gibibyte);
  EXPECT_EQ(backend::cuda::bar1Window(gpu, tree.root()), gibibyte);
  addRegister("resource1", 2 * gibibyte);
  EXPECT_EQ(backend::cuda::bar1Window(gpu, tree.root()), 2 * gibibyte);
}

TEST_F(CudaBudget, MoreThanIsFreeIsAnErrorWithBothNumbers) {
  free(5 * gibibyte, 256 * gibibyte);
  standin->failNamed("cuMemCreate", api::Status::OutOfMemory);
  const auto refused = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
  EXPECT_STREQ(refused.error().call, "cuMemCreate");
  EXPECT_EQ(refused.error().bytes, std::uint64_t{2} << 20);
  EXPECT_EQ(refused.error().available, 5 * gibibyte);
  EXPECT_FALSE(refused.error().hints().empty());
}

TEST(CudaMemory, MoreThanTheGpuHasIsRefusedWithAskedAndFree) {
  const auto& cuda = CudaDriver::instance().functions;
  std::size_t total{};
  ASSERT_EQ(cuda.deviceTotalMem(&total, api::Device{}), api::Status::Success);
  for(const CudaMemory kind : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    auto config = cudaConfig(kind);
    config.frameBytes = total;
    config.ignoreBudget = true;
    const auto refused = RdmaGpuBuffer::make(config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
    EXPECT_GE(refused.error().bytes, 4 * total);
    // What is free, or where nobody tells that, all.
    const std::uint64_t told = refused.error().available ? refused.error().available : refused.error().total;
    EXPECT_GT(told, 0U);
    EXPECT_LE(told, total);
  }
}

} // namespace
} // namespace rdmagpu::test
