#pragma once
#include <backend/vulkan_copier.hpp>
#include <contract/cuda_driver.hpp>
#include <rdmagpu/interop/vulkan.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace rdmagpu::test {

/// A program that uses the GPU by Vulkan, and has a device of its own on it. Empty, with the reason, where
/// there is no Vulkan for CUDA's first GPU.
class VulkanUser {
public:
  VulkanUser();

  const std::string& reason() const { return m_reason; }
  const backend::vulkan::LogicalDevicePtr& device() const { return m_device; }
  /// Through memory that the CPU maps, by vkCmdCopyBuffer.
  const backend::vulkan::Copier& copier() const { return *m_copier; }
  /// Slots that are CUDA's and this device's.
  RdmaGpuBufferConfig config() const;

  VulkanContext context;
  std::array<const char*, 1> extensions{VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};

private:
  std::string m_reason;
  backend::vulkan::LogicalDevicePtr m_device;
  std::shared_ptr<const backend::vulkan::Copier> m_copier;
};

/// Slots of CUDA's and of the library's own device.
RdmaGpuBufferConfig alsoVulkanConfig();

/// For tests that run on a GPU, too: skipped where that has no Vulkan.
class CudaVulkan : public testing::Test {
protected:
  void SetUp() override {
    m_user.emplace();
    if(m_user->reason().empty())
      return;
    ASSERT_EQ(CudaStandin::find(), nullptr) << m_user->reason();
    GTEST_SKIP() << "no Vulkan for CUDA's first GPU: " << m_user->reason();
  }
  const VulkanUser& user() const { return *m_user; }

private:
  std::optional<VulkanUser> m_user;
};

} // namespace rdmagpu::test
