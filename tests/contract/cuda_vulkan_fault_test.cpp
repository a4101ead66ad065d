#include <contract/cuda_vulkan.hpp>
#include <contract/fault.hpp>
#include <contract/vulkan_standin.hpp>
#include <support/log_capture.hpp>

#include <array>
#include <string>

namespace rdmagpu::test {
namespace {

// Validation asks the driver for things of its own accord, and does not live through a refusal.
[[maybe_unused]] const bool alone = withoutValidation();

/// Of both drivers, of which one has calls that fail. The loader, too, asks for a device's extensions: in
/// vkCreateDevice, after the library has.
template <class Failing>
class Faults {
public:
  Faults(Failing& failing, VulkanStandin& vulkan, CudaStandin& cuda)
      : m_failing(failing), m_vulkan(vulkan), m_cuda(cuda), m_before(vulkan.ledger()) {}
  void failCall(int n) { m_failing.failCall(n); }
  std::string failedCall() const {
    const std::string failed = m_failing.failedCall();
    const bool loaders =
        failed == "vkEnumerateDeviceExtensionProperties" && m_failing.calls(failed.c_str()) > 2;
    return loaders ? "vkCreateDevice" : failed;
  }
  std::string ledger() const {
    return (m_vulkan.ledger() == m_before ? "" : m_vulkan.ledger()) + m_cuda.ledger();
  }

private:
  Failing& m_failing;
  VulkanStandin& m_vulkan;
  CudaStandin& m_cuda;
  std::string m_before;
};

Outcome makeAndUse(const RdmaGpuBufferConfig& config) {
  const LogCapture log;
  Outcome outcome;
  {
    const auto buffer = RdmaGpuBuffer::make(config);
    const std::array<std::byte, 100> bytes{};
    outcome.result = buffer ? buffer->upload(1, bytes) : Result<void>{buffer.error()};
    if(buffer)
      outcome.survived = survivedBy(buffer->facts());
  }
  for(const Error& error : log.errors())
    outcome.survived.push_back(error);
  return outcome;
}

class CudaVulkanFaults : public OnVulkan {
protected:
  CudaStandin& cuda = *CudaStandin::find();
};

TEST_F(CudaVulkanFaults, EveryCallOfVulkansFailsOnce) {
  Faults faults{standin, standin, cuda};
  everyCallFailsOnce(faults, [] { return makeAndUse(alsoVulkanConfig()); });
}

TEST_F(CudaVulkanFaults, EveryCallOnTheCallersDeviceFailsOnce) {
  const VulkanUser user;
  Faults faults{standin, standin, cuda};
  everyCallFailsOnce(faults, [&] { return makeAndUse(user.config()); });
}

TEST_F(CudaVulkanFaults, EveryCallOfCudasFailsOnce) {
  Faults faults{cuda, standin, cuda};
  everyCallFailsOnce(faults, [] { return makeAndUse(alsoVulkanConfig()); });
}

} // namespace
} // namespace rdmagpu::test
