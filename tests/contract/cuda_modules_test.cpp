#include <contract/cuda_pinned.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::test {
namespace {

constexpr const char* good = "// a comment\n.version 6.0\n.target sm_50\n.address_size 64\n"
                             ".visible .entry rdmagpu_checksum(.param .u64 a) .reqntid 256, 1, 1 { ret; }\n"
                             "/* .entry hidden( */\n.visible .entry other() { ret; }\n";

/// How strict the software device is with modules, as far as a program that is wrong only gets an answer.
class CudaModules : public OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    if(!standin)
      return;
    m_primary.emplace(0);
    m_current.emplace(m_primary->get());
  }
  void TearDown() override {
    m_current.reset();
    m_primary.reset();
    OnCudaStandin::TearDown();
  }

  api::Status load(const char* text) {
    api::Module loaded{};
    const api::Status status = cuda.moduleLoadData(&loaded, text);
    if(status == api::Status::Success)
      m_module = loaded;
    return status;
  }
  api::Status unload() { return cuda.moduleUnload(m_module); }
  api::Status find(const char* name) { return cuda.moduleGetFunction(&m_function, m_module, name); }
  /// With no bytes to sum up.
  api::Status launch(unsigned grid, unsigned block, void** extra = nullptr) {
    api::DevicePtr word{};
    EXPECT_EQ(cuda.memAlloc(&word, 8), api::Status::Success);
    std::uint64_t none = 0;
    void* parameters[] = {&none, &none, &word};
    const api::Status status =
        cuda.launchKernel(m_function, grid, 1, 1, block, 1, 1, 0, nullptr, parameters, extra);
    EXPECT_EQ(cuda.memFree(word), api::Status::Success);
    return status;
  }

  const api::Functions& cuda = CudaDriver::instance().functions;
  std::optional<PrimaryOf> m_primary;
  std::optional<CurrentContext> m_current;
  api::Module m_module{};
  api::Function m_function{};
};

TEST_F(CudaModules, TextMustBePtx) {
  EXPECT_EQ(load(""), api::Status::InvalidImage);
  EXPECT_EQ(load("\177ELF"), api::Status::InvalidImage);
  EXPECT_EQ(load(".version 6.0\n.address_size 64\n"), api::Status::InvalidPtx) << "no target";
  EXPECT_EQ(load(".version 6.0\n.target sm_50\n.address_size 64\n.entry a() { ret;"),
            api::Status::InvalidPtx);
  EXPECT_EQ(load(nullptr), api::Status::InvalidValue);
  ASSERT_EQ(load(good), api::Status::Success);
  EXPECT_EQ(unload(), api::Status::Success);
}

TEST_F(CudaModules, EntryMustBeThere) {
  ASSERT_EQ(load(good), api::Status::Success);
  EXPECT_EQ(find("rdmagpu_checksum"), api::Status::Success);
  for(const char* absent : {"rdmagpu_check", "rdmagpu_poison", "hidden"})
    EXPECT_EQ(find(absent), api::Status::NotFound) << absent;
  EXPECT_EQ(find(nullptr), api::Status::InvalidValue);
  EXPECT_EQ(unload(), api::Status::Success);
}

TEST_F(CudaModules, GridAndBlockHaveLimits) {
  ASSERT_EQ(load(good), api::Status::Success);
  ASSERT_EQ(find("rdmagpu_checksum"), api::Status::Success);
  EXPECT_EQ(launch(1, 256), api::Status::Success);
  EXPECT_EQ(launch(0x7FFFFFFF, 256), api::Status::Success);
  EXPECT_EQ(launch(0x80000000, 256), api::Status::InvalidValue);
  EXPECT_EQ(launch(0, 256), api::Status::InvalidValue);
  EXPECT_EQ(launch(1, 0), api::Status::InvalidValue);
  EXPECT_EQ(launch(1, 128), api::Status::InvalidValue) << "not what the kernel requires";
  EXPECT_EQ(launch(1, 2048), api::Status::InvalidValue);
  void* extra[] = {nullptr};
  EXPECT_EQ(launch(1, 256, extra), api::Status::InvalidValue) << "parameters given twice";
  EXPECT_EQ(unload(), api::Status::Success);
}

TEST_F(CudaModules, ContextMustBeTheModules) {
  ASSERT_EQ(load(good), api::Status::Success);
  ASSERT_EQ(find("rdmagpu_checksum"), api::Status::Success);
  {
    const PrimaryOf other{1};
    const CurrentContext current{other.get()};
    EXPECT_EQ(launch(1, 256), api::Status::InvalidHandle);
    EXPECT_EQ(find("rdmagpu_checksum"), api::Status::InvalidHandle);
  }
  m_current.reset();
  EXPECT_EQ(load(good), api::Status::InvalidContext);
  EXPECT_EQ(find("rdmagpu_checksum"), api::Status::InvalidHandle);
  EXPECT_EQ(unload(), api::Status::Success) << "which needs none";
}

TEST_F(CudaModules, ModuleGoesWithItsContext) {
  ASSERT_EQ(load(good), api::Status::Success);
  EXPECT_NE(standin->ledger().find("1 modules"), std::string::npos);
  m_current.reset();
  m_primary.reset();
  EXPECT_EQ(standin->ledger(), "");
}

/// What a right program never does ends the process with a message that says so.
class CudaModulesDeath : public CudaModules {
protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe"; // a forked child could not use the driver
    CudaModules::SetUp();
  }
};

TEST_F(CudaModulesDeath, KernelThatSamplesIsGivenAllThatItReaches) {
  const std::string text =
      std::string{good} + ".visible .entry rdmagpu_sample() .reqntid 64, 1, 1 { ret; }\n";
  ASSERT_EQ(load(text.c_str()), api::Status::Success);
  ASSERT_EQ(find("rdmagpu_sample"), api::Status::Success);
  api::DevicePtr slot{};
  ASSERT_EQ(cuda.memAlloc(&slot, 8192), api::Status::Success);
  void* answer{};
  ASSERT_EQ(cuda.memHostAlloc(&answer, 4096, api::HostAllocFlags::DeviceMap), api::Status::Success);
  api::DevicePtr seenByGpu{};
  EXPECT_EQ(cuda.memHostGetDevicePointer(&seenByGpu, answer, 1), api::Status::InvalidValue);
  EXPECT_EQ(cuda.memHostGetDevicePointer(&seenByGpu, this, 0), api::Status::InvalidValue);
  ASSERT_EQ(cuda.memHostGetDevicePointer(&seenByGpu, answer, 0), api::Status::Success);
  const auto sample = [&](std::uint64_t places, std::uint64_t changed, std::uint64_t width,
                          unsigned rows = 1) {
    const std::uint64_t row[2] = {0, width};
    const std::uint64_t table = slot + 4096;
    EXPECT_EQ(cuda.memcpyHtoD(table, row, sizeof row), api::Status::Success);
    std::uint64_t jobs[2][7] = {{slot, table, 1, 0, 0, seenByGpu + 512, 1},
                                {slot, table, places, 0, 0, changed, 2}};
    if(rows == 1)
      std::swap(jobs[0], jobs[1]);
    void* parameters[] = {jobs};
    return cuda.launchKernel(m_function, 1, rows, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  };
  const auto answered = [&](std::size_t word) {
    return static_cast<const std::uint64_t*>(answer)[word] >> 32;
  };
  EXPECT_EQ(sample(1, seenByGpu, 8), api::Status::Success);
  EXPECT_EQ(answered(0), 2U);
  EXPECT_EQ(answered(64), 0U) << "a job without a row";
  EXPECT_EQ(sample(1, seenByGpu + 1024, 8, 2), api::Status::Success);
  EXPECT_EQ(answered(64), 1U);
  EXPECT_EQ(answered(128), 2U);
  EXPECT_EQ(sample(1, seenByGpu, 8, 3), api::Status::InvalidValue) << "more rows than jobs";
  EXPECT_EQ(sample(0, slot, 8), api::Status::Success) << "no places, no answer";
  EXPECT_DEATH(sample(1, slot, 8), "would reach memory that is not there") << "no host memory";
  EXPECT_DEATH(sample(1, seenByGpu + 4096 - 8, 8), "would reach memory") << "an answer for fewer threads";
  EXPECT_DEATH(sample(65, seenByGpu, 8), "would reach memory") << "fewer threads than places";
  EXPECT_DEATH(sample(1, seenByGpu, 9), "would reach memory") << "no such width";
  EXPECT_EQ(cuda.memFreeHost(answer), api::Status::Success);
  EXPECT_EQ(cuda.memFree(slot), api::Status::Success);
  EXPECT_EQ(unload(), api::Status::Success);
}

TEST_F(CudaModulesDeath, MisuseIsNamed) {
  EXPECT_DEATH(static_cast<void>(cuda.moduleUnload(nullptr)), "cuModuleUnload: a module that is not");
  ASSERT_EQ(load(good), api::Status::Success);
  ASSERT_EQ(find("other"), api::Status::Success);
  EXPECT_DEATH(launch(1, 256), "cuLaunchKernel: a kernel that is none of rdmagpu's");
  ASSERT_EQ(find("rdmagpu_checksum"), api::Status::Success);
  std::uint64_t bytes = 8;
  void* parameters[] = {&bytes, &bytes, &bytes};
  EXPECT_DEATH(
      static_cast<void>(cuda.launchKernel(m_function, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr)),
      "cuLaunchKernel: a kernel would reach memory that is not there");
  EXPECT_EQ(unload(), api::Status::Success);
  EXPECT_DEATH(launch(1, 256), "cuLaunchKernel: a function that is not, or no longer, there");
}

} // namespace
} // namespace rdmagpu::test
