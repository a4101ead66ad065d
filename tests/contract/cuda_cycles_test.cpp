#include <contract/cuda_driver.hpp>
#include <driver/nvml.hpp>
#include <os/library.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::test {
namespace {

namespace nvml = driver::nvml;

/// NVIDIA's management library as the test asks it: unlike the driver it needs no context, and sees what
/// other processes hold too.
class Management {
public:
  std::uint64_t used(const std::string& busId) const {
    nvml::Device device{};
    nvml::Memory memory;
    EXPECT_EQ(m_functions.deviceGetHandleByPciBusId(busId.c_str(), &device), nvml::Status::Success);
    EXPECT_EQ(m_functions.deviceGetMemoryInfo(device, &memory), nvml::Status::Success);
    return memory.used;
  }
  bool start() const { return !m_functions.load.missing() && m_functions.init() == nvml::Status::Success; }

  static Result<os::Library> open() { return os::Library::open("libnvidia-ml.so.1"); }
  explicit Management(SymbolSource& source) : m_functions(source) {}

private:
  nvml::Functions m_functions;
};

/// What is free and used once the first cycle has made what the driver keeps for good.
struct Account {
  std::size_t free{};
  std::uint64_t used{};
};

class CudaCycles : public testing::TestWithParam<CudaMemory> {
protected:
  // Exports want a context, and retaining one anew for each cycle would take tenths of a second.
  void SetUp() override {
    const auto& functions = cuda.functions;
    ASSERT_EQ(functions.primaryCtxRetain(&m_context, api::Device{}), api::Status::Success);
    ASSERT_EQ(functions.ctxPushCurrent(m_context), api::Status::Success);
    std::array<char, 32> text{};
    ASSERT_EQ(functions.deviceGetPciBusId(text.data(), static_cast<int>(text.size()), api::Device{}),
              api::Status::Success);
    m_busId = text.data();
    auto library = Management::open();
    ASSERT_TRUE(library) << library.error().message();
    m_library = *library;
    m_management.emplace(*m_library);
    ASSERT_TRUE(m_management->start());
  }
  void TearDown() override {
    api::Context popped{};
    EXPECT_EQ(cuda.functions.ctxPopCurrent(&popped), api::Status::Success);
    EXPECT_EQ(cuda.functions.primaryCtxRelease(api::Device{}), api::Status::Success);
  }

  Account account() const {
    std::size_t free{};
    std::size_t total{};
    EXPECT_EQ(cuda.functions.memGetInfo(&free, &total), api::Status::Success);
    return {free, m_management->used(m_busId)};
  }

  /// By turns the export goes before its buffer and after it.
  static void cycle(CudaMemory memory, int turn) {
    auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
    ASSERT_TRUE(buffer) << buffer.error().message();
    const auto region = buffer->exportRegion();
    ASSERT_TRUE(region) << region.error().message();
    const auto slot = buffer->exportSlot(1);
    ASSERT_TRUE(slot) << slot.error().message();
    if(turn % 2 == 0)
      buffer->destroy();
  }

  const CudaDriver& cuda = CudaDriver::instance();

private:
  api::Context m_context{};
  std::string m_busId;
  std::optional<os::Library> m_library; // what the functions' loader refers to
  std::optional<Management> m_management;
};

TEST_P(CudaCycles, CreateExportDestroyLosesNoByte) {
  const int cycles = CudaStandin::find() ? 200 : 10'000;
  cycle(GetParam(), 0);
  const Account before = account();
  for(int turn = 0; turn < cycles && !HasFatalFailure(); ++turn)
    cycle(GetParam(), turn);
  const Account after = account();
  EXPECT_EQ(after.free, before.free) << "cuMemGetInfo_v2";
  EXPECT_EQ(after.used, before.used) << "nvmlDeviceGetMemoryInfo";
  RecordProperty("cycles", cycles);
}

INSTANTIATE_TEST_SUITE_P(EachKind, CudaCycles, testing::Values(CudaMemory::Vmm, CudaMemory::MemAlloc),
                         [](const auto& tested) {
                           return tested.param == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

} // namespace
} // namespace rdmagpu::test
