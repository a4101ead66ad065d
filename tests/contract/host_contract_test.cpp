#include <contract/backend_contract.hpp>
#include <contract/bytes_contract.hpp>
#include <contract/copy_contract.hpp>
#include <contract/os_standin.hpp>

#include <unistd.h>

namespace rdmagpu::test {
namespace {

RdmaGpuBufferConfig hostConfig(HostMemory memory) {
  return {.api = RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 100'001, .host = memory};
}

std::string nameOf(const testing::TestParamInfo<BackendUnderTest>& info) {
  const HostMemory& host = info.param.config.host;
  return host.forbidMemfd ? "Anonymous" : host.lock == PageLock::Off ? "NotLocked" : "Memfd";
}

INSTANTIATE_TEST_SUITE_P(Host, BackendContract,
                         testing::Values(BackendUnderTest{hostConfig({}), true, true},
                                         BackendUnderTest{hostConfig({.lock = PageLock::Off}), true, true},
                                         BackendUnderTest{hostConfig({.forbidMemfd = true}), false, false}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Host, CopyContract, testing::Values(hostConfig({})));
INSTANTIATE_TEST_SUITE_P(Host, BytesContract, testing::Values(hostConfig({})));

TEST(HostCopy, IsDoneWhenItsCallReturns) {
  const auto buffer = RdmaGpuBuffer::make(hostConfig({}));
  ASSERT_TRUE(buffer);
  auto queue = CopyQueue::make(*buffer);
  ASSERT_TRUE(queue);
  const std::byte sent{7};
  const auto copy = queue->upload(1, {&sent, 1});
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->done());
  EXPECT_EQ(*static_cast<std::byte*>(buffer->slot(1).gpuVA), sent);
}

TEST(HostCopy, HasNoUseForAStreamOfAGpu) {
  const auto buffer = RdmaGpuBuffer::make(hostConfig({}));
  ASSERT_TRUE(buffer);
  const auto queue = CopyQueue::make(*buffer, {.stream = CudaStream{}});
  ASSERT_FALSE(queue);
  EXPECT_STREQ(queue.error().codeName, "StreamOfOtherGpu");
}

/// The exports go to the software udmabuf where this machine's kernel has none.
class SoftUdmabuf : public testing::Environment {
public:
  void SetUp() override { OsStandin::instance().softUdmabuf(access("/dev/udmabuf", R_OK | W_OK) != 0); }
};
[[maybe_unused]] const auto* environment = testing::AddGlobalTestEnvironment(new SoftUdmabuf);

} // namespace
} // namespace rdmagpu::test
