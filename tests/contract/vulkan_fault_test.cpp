#include <contract/fault.hpp>
#include <contract/vulkan_caller.hpp>
#include <contract/vulkan_standin.hpp>
#include <rdmagpu/backends.hpp>
#include <support/log_capture.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace rdmagpu::test {
namespace {

// Validation asks the driver for things of its own accord, and does not live through a refusal.
[[maybe_unused]] const bool alone = withoutValidation();

/// The loader, too, asks for a device's extensions: in vkCreateDevice, after the library has.
class Faults {
public:
  explicit Faults(VulkanStandin& standin) : m_standin(standin), m_before(standin.ledger()) {}
  void failCall(int n) { m_standin.failCall(n); }
  std::string failedCall() const {
    const std::string failed = m_standin.failedCall();
    const bool loaders =
        failed == "vkEnumerateDeviceExtensionProperties" && m_standin.calls(failed.c_str()) > 2;
    return loaders ? "vkCreateDevice" : failed;
  }
  /// Without what was there before.
  std::string ledger() const { return m_standin.ledger() == m_before ? "" : m_standin.ledger(); }

private:
  VulkanStandin& m_standin;
  std::string m_before;
};

/// All that slots are used by.
Outcome useAll(RdmaGpuBufferConfig config) {
  const LogCapture log;
  config.slotCount = 2;
  config.zeroFill = true;
  config.scrubOnDestroy = true;
  Outcome outcome;
  {
    const auto buffer = RdmaGpuBuffer::make(config);
    std::array<std::byte, 100> bytes{};
    if(!buffer)
      outcome.result = buffer.error();
    if(outcome.result)
      outcome.result = buffer->upload(1, bytes);
    if(outcome.result)
      outcome.result = buffer->download(1, bytes);
    if(outcome.result)
      outcome.result = buffer->poison(1, 7);
    if(outcome.result) {
      const auto sum = buffer->checksum(1, 100);
      outcome.result = sum ? Result<void>{} : sum.error();
    }
  }
  outcome.survived = log.errors();
  return outcome;
}

TEST_F(OnVulkan, EveryCallFailsOnce) {
  Faults faults{standin};
  everyCallFailsOnce(faults, [] { return useAll(vulkanConfig()); });
}

TEST_F(OnVulkan, EveryCallOnTheCallersDeviceFailsOnce) {
  const VulkanCaller caller;
  Faults faults{standin};
  everyCallFailsOnce(faults, [&] { return useAll(caller.withQueue()); });
}

TEST_F(OnVulkan, EveryCallOfAProbeFailsOnce) {
  everyCallFailsOnce(standin, [] {
    Outcome outcome;
    for(const BackendInfo& info : backends()) {
      if(info.api == RdmaGpuApi::Vulkan && !info.available)
        outcome.result = info.reason;
    }
    return outcome;
  });
}

} // namespace
} // namespace rdmagpu::test
