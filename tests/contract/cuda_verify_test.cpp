// verify() without a peer of the caller's, of slots that no CPU can address.
#include <contract/cuda_driver.hpp>
#include <contract/fault.hpp>
#include <rdmagpu/verify.hpp>
#include <support/log_capture.hpp>

namespace rdmagpu::test {
namespace {

class CudaVerify : public testing::TestWithParam<CudaMemory> {};
INSTANTIATE_TEST_SUITE_P(Kinds, CudaVerify, testing::Values(CudaMemory::Vmm, CudaMemory::MemAlloc));

TEST_P(CudaVerify, BothDirectionsAreProvenByTheCopyEngine) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(GetParam()));
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(const std::size_t bytes : {std::size_t{0}, std::size_t{1001}}) {
    const auto report = verify(*buffer, {.bytes = bytes});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_STREQ(report->peer, "software");
    EXPECT_EQ(report->slots, 4U);
    EXPECT_EQ(report->write, Answer::Yes);
    EXPECT_EQ(report->read, Answer::Yes);
    EXPECT_TRUE(report->failures.empty());
    EXPECT_EQ(report->proof.by, Agent::CopyEngine) << "no device";
  }
}

TEST_P(CudaVerify, TheCallersContextIsAsItWas) {
  const CudaDriver& cuda = CudaDriver::instance();
  const auto buffer = RdmaGpuBuffer::make(cudaConfig(GetParam()));
  ASSERT_TRUE(buffer) << buffer.error().message();
  ASSERT_EQ(cuda.current(), nullptr);
  EXPECT_TRUE(verify(*buffer));
  EXPECT_EQ(cuda.current(), nullptr);
}

class CudaVerifyFault : public OnCudaStandin {};

TEST_F(CudaVerifyFault, ACopyOfThePeersThatFailsIsInTheReport) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(const char* failing : {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}) {
    const bool writes = std::string_view{failing}.find("HtoD") != std::string_view::npos;
    standin->failNamed(failing, api::Status::Unknown);
    const auto report = verify(*buffer);
    standin->failNamed("", api::Status::Success);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->write, writes ? Answer::No : Answer::Yes);
    EXPECT_EQ(report->read, writes ? Answer::Yes : Answer::No);
    EXPECT_STREQ((writes ? report->writeError : report->readError).call, failing);
    EXPECT_EQ(report->failures.size(), 4U);
  }
}

TEST_F(CudaVerifyFault, CopiesThatCannotBeSetUpAreAnError) {
  const auto buffer = RdmaGpuBuffer::make(cudaConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  standin->failNamed("cuStreamCreate", api::Status::OutOfMemory);
  const auto report = verify(*buffer);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Errc::OutOfMemory);
}

TEST_F(CudaVerifyFault, EveryCallFailsOnce) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    everyCallFailsOnce(*standin, [&] {
      const LogCapture log;
      Outcome outcome;
      if(const auto buffer = RdmaGpuBuffer::make(cudaConfig(memory))) {
        outcome.survived = survivedBy(buffer->facts());
        const auto report = verify(*buffer, {.bytes = 1001});
        if(report)
          outcome.survived.insert(outcome.survived.end(), {report->writeError, report->readError});
        else
          outcome.result = report.error();
      } else {
        outcome.result = buffer.error();
      }
      const auto logged = log.errors();
      outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
      return outcome;
    });
  }
}

} // namespace
} // namespace rdmagpu::test
