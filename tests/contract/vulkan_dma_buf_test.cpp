#include <backend/vulkan_dma_buf_region.hpp>
#include <contract/fault.hpp>
#include <contract/vulkan_caller.hpp>
#include <contract/vulkan_standin.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/copy_queue.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::test {
namespace {

class VulkanDmaBuf : public OnVulkan {
protected:
  static std::string refusal(const RdmaGpuBufferConfig& config) {
    const auto buffer = RdmaGpuBuffer::make(config);
    return buffer ? "none" : buffer.error().codeName;
  }
  static std::vector<std::byte> numbered(std::size_t bytes, unsigned first) {
    std::vector<std::byte> data(bytes);
    for(std::size_t i = 0; i < bytes; ++i)
      data[i] = static_cast<std::byte>((i * 7 + i / 251 + first) & 0xFFU);
    return data;
  }
  /// Maps the range of a dma-buf, as a second process does that has nothing but the descriptor.
  template <class Use>
  static void inAnotherProcess(const DmaBuf& dmaBuf, Use use) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if(child == 0) {
      void* const mapped = mmap(nullptr, dmaBuf.size(), PROT_READ | PROT_WRITE, MAP_SHARED, dmaBuf.fd(),
                                static_cast<off_t>(dmaBuf.offset()));
      _exit(mapped != MAP_FAILED && use(static_cast<std::byte*>(mapped)) ? 0 : 1);
    }
    int status{};
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
};

TEST_F(VulkanDmaBuf, SlotsAreOneBufferAndOneAllocation) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto first = interop::vulkanSlot(*buffer, 0);
  ASSERT_TRUE(first);
  for(std::size_t i = 0; i < 4; ++i) {
    const auto slot = interop::vulkanSlot(*buffer, i);
    EXPECT_EQ(slot->buffer, first->buffer);
    EXPECT_EQ(slot->memory, first->memory);
    EXPECT_EQ(slot->offset, i * slot->size);
    EXPECT_EQ(kind(buffer->handoff(i)), HandoffKind::DmaBuf);
    EXPECT_EQ(buffer->slot(i).gpuVA, nullptr);
  }
  EXPECT_EQ(buffer->facts().regionCount, 1U);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Unknown);
  EXPECT_EQ(buffer->facts().device, "rdmagpu software device (Vulkan)");
}

TEST_F(VulkanDmaBuf, WhatAnotherProcessWritesIsInTheSlot) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto exported = buffer->exportSlot(2);
  ASSERT_TRUE(exported) << exported.error().message();
  EXPECT_EQ(exported->offset(), buffer->slotOffset(2));
  const auto sent = numbered(buffer->slot(2).size, 1);
  inAnotherProcess(*exported, [&](std::byte* slot) {
    std::memcpy(slot, sent.data(), sent.size());
    return true;
  });
  std::vector<std::byte> back(sent.size());
  ASSERT_TRUE(buffer->download(2, back));
  EXPECT_TRUE(back == sent);
  EXPECT_EQ(*buffer->checksum(2, sent.size()), checksum(sent));
}

TEST_F(VulkanDmaBuf, WhatIsUploadedAnotherProcessReads) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto exported = buffer->exportRegion();
  ASSERT_TRUE(exported) << exported.error().message();
  EXPECT_EQ(exported->offset(), 0U);
  const auto sent = numbered(buffer->slot(1).size, 2);
  ASSERT_TRUE(buffer->upload(1, sent));
  const std::uint64_t at = buffer->slotOffset(1);
  inAnotherProcess(*exported, [&](const std::byte* region) {
    return std::memcmp(region + at, sent.data(), sent.size()) == 0;
  });
}

TEST_F(VulkanDmaBuf, CallersDeviceIsCopiedOnOneOfTheLibrarysOwn) {
  const VulkanCaller caller{VulkanCaller::Kind::DmaBuf};
  standin.failCall(0);
  const auto buffer = RdmaGpuBuffer::make(caller.config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(standin.calls("vkCreateDevice"), 1) << "to copy on";
  EXPECT_EQ(interop::vulkanSlot(*buffer, 1)->device, caller.device()->handle());
  const auto sent = numbered(1000, 3);
  ASSERT_TRUE(buffer->upload(1, sent, 5));
  // The caller's own commands see it.
  const auto commands = backend::vulkan::Copier::create(caller.device());
  ASSERT_TRUE(commands);
  const auto slot = interop::vulkanSlot(*buffer, 1);
  std::vector<std::byte> back(1000);
  ASSERT_TRUE((*commands)->download(slot->buffer, slot->offset + 5, back));
  EXPECT_TRUE(back == sent);
  EXPECT_TRUE(buffer->exportRegion()) << "of the memory that was made, and not of the import";
}

TEST_F(VulkanDmaBuf, CallersQueueThatIsNamedMakesNoOtherDevice) {
  const VulkanCaller caller{VulkanCaller::Kind::DmaBuf};
  standin.failCall(0);
  const auto buffer = RdmaGpuBuffer::make(caller.withQueue());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(standin.calls("vkCreateDevice"), 0);
  EXPECT_TRUE(buffer->clear(0));
}

TEST_F(VulkanDmaBuf, DriverThatDoesNotImportLeavesCopiesToTheCaller) {
  const VulkanCaller caller{VulkanCaller::Kind::DmaBuf};
  standin.mode("no-import");
  const auto buffer = RdmaGpuBuffer::make(caller.config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_STREQ(buffer->clear(0).error().codeName, "VulkanNoQueueNamed");
  EXPECT_STREQ(CopyQueue::make(*buffer).error().codeName, "VulkanNoQueueNamed");
  EXPECT_TRUE(buffer->exportRegion());
}

TEST_F(VulkanDmaBuf, ExportOutlivesTheBuffer) {
  auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer);
  {
    const auto exported = buffer->exportRegion();
    ASSERT_TRUE(exported);
    buffer->destroy();
    EXPECT_NE(standin.ledger(), "");
  }
  EXPECT_EQ(standin.ledger(), "");
}

TEST_F(VulkanDmaBuf, EachAbsenceIsItsOwnErrorAndSaysWhatToDo) {
  for(const auto& [mode, code] : {std::pair{"vulkan-1.0", "VulkanTooOld"},
                                  {"no-memory-fd", "VulkanNoMemoryFd"},
                                  {"no-dma-buf", "VulkanNoDmaBuf"},
                                  {"no-dma-buf-export", "VulkanNoDmaBufExport"},
                                  {"dma-buf-no-memory", "VulkanNoDmaBufMemory"}}) {
    standin.mode(mode);
    const auto refused = RdmaGpuBuffer::make(vulkanDmaBufConfig());
    ASSERT_FALSE(refused) << mode;
    EXPECT_STREQ(refused.error().codeName, code) << mode;
    EXPECT_FALSE(refused.error().hints().empty()) << mode;
    EXPECT_EQ(standin.ledger(), "") << mode;
  }
  takeValidation(); // of a driver that has no type of memory for a buffer
}

TEST_F(VulkanDmaBuf, WhatIsNotEnabledIsNamed) {
  const VulkanCaller caller{VulkanCaller::Kind::DmaBuf};
  auto config = caller.config();
  const char* const fdOnly = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
  config.vulkan.enabledExtensions = {&fdOnly, 1};
  const auto dmaBuf = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(dmaBuf);
  EXPECT_STREQ(dmaBuf.error().codeName, "VulkanDmaBufNotEnabled");
  EXPECT_NE(dmaBuf.error().message().find("VK_EXT_external_memory_dma_buf"), std::string::npos);
  config.vulkan.enabledExtensions = {};
  const auto fd = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(fd);
  EXPECT_STREQ(fd.error().codeName, "VulkanMemoryFdNotEnabled");
  EXPECT_NE(fd.error().message().find("VK_KHR_external_memory_fd"), std::string::npos);
}

TEST_F(VulkanDmaBuf, MemoryIsDedicatedWhereThatIsRequired) {
  const VulkanCaller caller{VulkanCaller::Kind::DmaBuf};
  for(const char* mode : {"dedicated", "dedicated-only"}) { // the software device ends the program otherwise
    standin.mode(mode);
    const auto buffer = RdmaGpuBuffer::make(caller.config());
    ASSERT_TRUE(buffer) << mode << ": " << buffer.error().message();
    EXPECT_TRUE(buffer->clear(0)) << mode;
  }
}

TEST_F(VulkanDmaBuf, IsListedWithItsReason) {
  const auto probed = [] {
    const auto all = backends();
    return *std::ranges::find(all, RdmaGpuApi::VulkanDmaBuf, &BackendInfo::api);
  };
  EXPECT_TRUE(probed().available);
  EXPECT_EQ(probed().devices.at(0).rdmaCapable, Answer::Unknown);
  standin.mode("no-dma-buf-export");
  EXPECT_FALSE(probed().available);
  EXPECT_STREQ(probed().reason.codeName, "VulkanNoDmaBufExport");
}

TEST_F(VulkanDmaBuf, MoreThanTheHeapHasIsRefused) {
  const RdmaGpuBufferConfig config{
      .api = RdmaGpuApi::VulkanDmaBuf, .slotCount = 1, .frameBytes = std::size_t{1} << 50};
  EXPECT_EQ(refusal(config), "VulkanHeapExceeded");
  EXPECT_GT(*RdmaGpuBuffer::maxSlots(vulkanDmaBufConfig()), 4U);
}

TEST_F(VulkanDmaBuf, AutoDoesNotTakeIt) {
  const auto buffer = RdmaGpuBuffer::make(
      {.api = RdmaGpuApi::Auto, .slotCount = 1, .frameBytes = 1, .accepts = {HandoffKind::DmaBuf}});
  EXPECT_TRUE(!buffer || buffer->backend() != RdmaGpuApi::VulkanDmaBuf);
}

TEST_F(VulkanDmaBuf, IsNotExportedInAForkedChild) {
  const auto buffer = RdmaGpuBuffer::make(vulkanDmaBufConfig());
  ASSERT_TRUE(buffer);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0)
    _exit(std::string{buffer->exportSlot(0).error().codeName} == "ForkedChild" ? 0 : 1);
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(VulkanDmaBufType, IsTheGpusOwnThatTheCpuMapsToo) {
  VkPhysicalDeviceMemoryProperties memory{};
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  const std::vector<VkMemoryPropertyFlags> types{
      mapped, local, local | mapped | VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, local | mapped};
  for(const VkMemoryPropertyFlags flags : types)
    memory.memoryTypes[memory.memoryTypeCount++].propertyFlags = flags;
  EXPECT_EQ(backend::vulkan::chooseDmaBufType(memory, 0xF), 3U);
  EXPECT_EQ(backend::vulkan::chooseDmaBufType(memory, 0x7), 1U);
  EXPECT_EQ(backend::vulkan::chooseDmaBufType(memory, 0x5), 0U);
  EXPECT_EQ(backend::vulkan::chooseDmaBufType(memory, 0x4), std::nullopt);
}

} // namespace
} // namespace rdmagpu::test
