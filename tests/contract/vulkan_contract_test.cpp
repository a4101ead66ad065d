#include <contract/backend_contract.hpp>
#include <contract/bytes_contract.hpp>
#include <contract/vulkan_standin.hpp>

namespace rdmagpu::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Vulkan, BackendContract,
                         testing::Values(BackendUnderTest{vulkanConfig(), false, false}));
INSTANTIATE_TEST_SUITE_P(Vulkan, BytesContract, testing::Values(vulkanConfig()));
INSTANTIATE_TEST_SUITE_P(VulkanDmaBuf, BackendContract,
                         testing::Values(BackendUnderTest{vulkanDmaBufConfig(), true, false}));
INSTANTIATE_TEST_SUITE_P(VulkanDmaBuf, BytesContract, testing::Values(vulkanDmaBufConfig()));

} // namespace
} // namespace rdmagpu::test
