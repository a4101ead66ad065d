#include <contract/cuda_driver.hpp>
#include <contract/log_capture.hpp>
#include <os/library.hpp>

#include <cstdint>

namespace rdmagpu::test {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

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
  EXPECT_EQ(refused.error().available, 7U * 32768);
  EXPECT_FALSE(refused.error().hints().empty());
  config.ignoreBudget = true;
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
}

TEST_F(CudaBudget, IsAllThatTheGpuHasWhereNobodyTellsWhatIsFree) {
  answers(false);
  EXPECT_EQ(mostSlots(), 123U);
  EXPECT_EQ(standin->calls("cuDeviceTotalMem_v2"), 1);
}

TEST_F(CudaBudget, IsUnknownAndLoggedWhereNotEvenThatIsTold) {
  answers(false);
  standin->failNamed("cuDeviceTotalMem_v2", api::Status::Unknown);
  const LogCapture log;
  EXPECT_TRUE(RdmaGpuBuffer::make(cudaConfig()));
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "cuDeviceTotalMem_v2");
}

} // namespace
} // namespace rdmagpu::test
