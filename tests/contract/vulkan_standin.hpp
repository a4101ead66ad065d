#pragma once
#include <os/library.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <vulkan/vulkan_core.h>

#include <gtest/gtest.h>

#include <string>

namespace rdmagpu::test {

/// The project's layer between Vulkan's loader and lavapipe, as tests steer it.
class VulkanStandin {
public:
  static VulkanStandin& instance();

  void failCall(int n) { m_failCall(n); }
  std::string failedCall() const { return m_failedCall(); }
  void failNamed(const char* name, VkResult result) { m_failNamed(name, result); }
  int calls(const char* name) const { return m_calls(name); }
  std::string ledger() const { return m_ledger(); }
  void mode(const char* name) { m_mode(name); }
  /// Of the buffer whose memory peers reach that was made last.
  VkBufferUsageFlags lastUsage() const { return m_lastUsage(); }

private:
  explicit VulkanStandin(SymbolSource&);

  void (*m_failCall)(int);
  const char* (*m_failedCall)();
  void (*m_failNamed)(const char*, int);
  int (*m_calls)(const char*);
  const char* (*m_ledger)();
  void (*m_mode)(const char*);
  unsigned (*m_lastUsage)();
};

/// What Khronos' validation has said since it was last asked; empty when nothing. Tests that leave something
/// here unread fail at the end of the program.
std::string takeValidation();

/// Leaves the validation out of this program. Before the tests start; true.
bool withoutValidation();

inline RdmaGpuBufferConfig vulkanConfig() {
  return {.api = RdmaGpuApi::Vulkan, .slotCount = 4, .frameBytes = 100'001};
}

class OnVulkan : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(standin.ledger(), "");
    standin.failCall(0);
  }
  void TearDown() override {
    standin.failCall(0);
    standin.failNamed("", VK_SUCCESS);
    standin.mode("");
    EXPECT_EQ(standin.ledger(), "");
  }

  VulkanStandin& standin = VulkanStandin::instance();
};

} // namespace rdmagpu::test
