#include <contract/backend_contract.hpp>
#include <contract/os_standin.hpp>

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

/// The exports go to the software udmabuf: this machine's kernel may have none.
class SoftUdmabuf : public testing::Environment {
public:
  void SetUp() override { OsStandin::instance().softUdmabuf(true); }
};
[[maybe_unused]] const auto* environment = testing::AddGlobalTestEnvironment(new SoftUdmabuf);

} // namespace
} // namespace rdmagpu::test
