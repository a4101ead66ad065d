#include <contract/backend_contract.hpp>
#include <contract/cuda_driver.hpp>

namespace rdmagpu::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, BackendContract,
                         testing::Values(BackendUnderTest{cudaConfig(CudaMemory::Vmm), true, true},
                                         BackendUnderTest{cudaConfig(CudaMemory::MemAlloc), true, false}),
                         [](const testing::TestParamInfo<BackendUnderTest>& tested) {
                           return tested.param.config.cudaMemory == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

} // namespace
} // namespace rdmagpu::test
