#include <backend/vulkan_copier.hpp>
#include <contract/fault.hpp>
#include <contract/vulkan_caller.hpp>
#include <contract/vulkan_standin.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// Slots on the caller's device.
namespace rdmagpu::test {
namespace {

class VulkanCallers : public OnVulkan {
protected:
  static std::string refusal(const RdmaGpuBufferConfig& config) {
    const auto buffer = RdmaGpuBuffer::make(config);
    return buffer ? "none" : buffer.error().codeName;
  }
  static std::vector<std::byte> numbered(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for(std::size_t i = 0; i < bytes; ++i)
      data[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xFFU);
    return data;
  }
  static constexpr const char* callersOwn = "1 devices; 1 instances; ";
};

TEST_F(VulkanCallers, SlotsAreBuffersOfTheDevice) {
  const VulkanCaller caller;
  const auto buffer = RdmaGpuBuffer::make(caller.withQueue());
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(std::size_t i = 0; i < 3; ++i) {
    const auto slot = interop::vulkanSlot(*buffer, i);
    ASSERT_TRUE(slot);
    EXPECT_EQ(slot->device, caller.device()->handle());
    EXPECT_EQ(static_cast<void*>(slot->buffer), buffer->slot(i).opaque);
    EXPECT_NE(slot->memory, VkDeviceMemory{});
    EXPECT_EQ(slot->offset, buffer->slotOffset(i));
    EXPECT_EQ(slot->size, buffer->slot(i).size);
    const auto& types = caller.device()->gpu().memory.memoryTypes;
    EXPECT_NE(types[slot->memoryType].propertyFlags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, 0U);
  }
  EXPECT_FALSE(interop::vulkanSlot(*buffer, 3)) << "out of range";
}

TEST_F(VulkanCallers, OtherMemoryIsNoBufferOfVulkans) {
  const auto host = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = 1});
  ASSERT_TRUE(host);
  EXPECT_FALSE(interop::vulkanSlot(*host, 0));
  EXPECT_FALSE(RdmaGpuBuffer{}.vulkanBuffer(0));
}

TEST_F(VulkanCallers, CommandsOfTheCallersReadWhatAPeerWrote) {
  const VulkanCaller caller;
  const auto buffer = RdmaGpuBuffer::make(caller.config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto sent = numbered(100'001);
  const std::uint64_t address = addressBits(buffer->handoff(2));
  std::thread{[&] { std::memcpy(reinterpret_cast<void*>(address), sent.data(), sent.size()); }}.join();
  const auto commands = backend::vulkan::Copier::create(caller.device());
  ASSERT_TRUE(commands);
  const auto slot = interop::vulkanSlot(*buffer, 2);
  std::vector<std::byte> back(sent.size());
  ASSERT_TRUE((*commands)->download(slot->buffer, slot->offset, back));
  EXPECT_TRUE(back == sent);
}

TEST_F(VulkanCallers, NamedQueueCopies) {
  const VulkanCaller caller;
  auto config = caller.withQueue();
  config.zeroFill = config.scrubOnDestroy = true;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(standin.calls("vkCreateDevice"), 1) << "the caller's own";
  const auto sent = numbered(1000);
  ASSERT_TRUE(buffer->upload(1, sent, 7));
  std::vector<std::byte> back(1000);
  ASSERT_TRUE(buffer->download(1, back, 7));
  EXPECT_TRUE(back == sent);
}

TEST_F(VulkanCallers, QueueThatIsNotNamedIsNotUsed) {
  const VulkanCaller caller;
  const auto buffer = RdmaGpuBuffer::make(caller.config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  std::vector<std::byte> bytes(8);
  for(const Error& error :
      {buffer->upload(0, bytes).error(), buffer->download(0, bytes).error(), buffer->checksum(0, 8).error(),
       buffer->poison(0, 1).error(), buffer->clear(0).error()}) {
    EXPECT_STREQ(error.codeName, "VulkanNoQueueNamed") << error.call;
    EXPECT_TRUE(std::string_view{error.call}.starts_with("RdmaGpuBuffer::")) << error.call;
    EXPECT_TRUE(hintsName(error, "vulkan.queue"));
  }
  auto cleared = caller.config();
  cleared.zeroFill = true;
  EXPECT_EQ(refusal(cleared), "VulkanNoQueueNamed");
  cleared.zeroFill = false;
  cleared.scrubOnDestroy = true;
  EXPECT_EQ(refusal(cleared), "VulkanNoQueueNamed");
  EXPECT_EQ(standin.calls("vkQueueSubmit"), 0);
  EXPECT_EQ(standin.calls("vkQueueWaitIdle"), 0);
}

TEST_F(VulkanCallers, DeviceAndInstanceStayTheCallers) {
  const VulkanCaller caller;
  ASSERT_EQ(standin.ledger(), callersOwn);
  auto buffer = RdmaGpuBuffer::make(caller.withQueue());
  ASSERT_TRUE(buffer);
  auto held = buffer->keepAlive(0);
  buffer->destroy();
  EXPECT_NE(standin.ledger(), callersOwn) << "what is held of the slots lives";
  held.reset();
  EXPECT_EQ(standin.ledger(), callersOwn);
  EXPECT_TRUE(RdmaGpuBuffer::make(caller.config())) << "the device is as it was";
}

TEST_F(VulkanCallers, OptionsAreReadOnceAndNotKept) {
  const VulkanCaller caller;
  auto context = std::make_unique<VulkanContext>(caller.context);
  auto config = caller.withQueue();
  config.vulkanCtx = context.get();
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  context.reset();
  EXPECT_TRUE(buffer->clear(0));
}

TEST_F(VulkanCallers, WhatIsNotEnabledIsNamed) {
  const VulkanCaller caller;
  auto config = caller.config();
  config.vulkan.externalMemoryRdma = false;
  const auto feature = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(feature);
  EXPECT_STREQ(feature.error().codeName, "VulkanRdmaFeatureNotEnabled");
  EXPECT_NE(feature.error().message().find("externalMemoryRDMA"), std::string::npos);
  config.vulkan.enabledExtensions = {};
  const auto extension = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(extension);
  EXPECT_STREQ(extension.error().codeName, "VulkanRdmaNotEnabled");
  EXPECT_NE(extension.error().message().find("VK_NV_external_memory_rdma"), std::string::npos);
}

TEST_F(VulkanCallers, WhatTheGpuLacksIsToldFirst) {
  const VulkanCaller caller;
  auto config = caller.config();
  config.vulkan.enabledExtensions = {};
  standin.mode("no-feature");
  EXPECT_EQ(refusal(config), "VulkanRdmaOff");
}

TEST_F(VulkanCallers, ContextIsWholeAndItsPartsBelongTogether) {
  const VulkanCaller caller;
  for(void* VulkanContext::*part :
      {&VulkanContext::instance, &VulkanContext::physicalDevice, &VulkanContext::device}) {
    VulkanContext context = caller.context;
    context.*part = nullptr;
    auto config = caller.config();
    config.vulkanCtx = &context;
    EXPECT_EQ(refusal(config), "VulkanContextIncomplete");
  }
  VulkanContext context = caller.context;
  context.physicalDevice = &context;
  auto config = caller.config();
  config.vulkanCtx = &context;
  EXPECT_EQ(refusal(config), "VulkanForeignPhysicalDevice");
}

TEST_F(VulkanCallers, QueueIsOfAFamilyThatCopies) {
  const VulkanCaller caller;
  auto config = caller.withQueue();
  config.vulkan.queueFamily = 1000;
  EXPECT_EQ(refusal(config), "VulkanQueueCannotCopy");
}

TEST_F(VulkanCallers, GpuThatIsNamedBesidesIsTheDevices) {
  const VulkanCaller caller;
  auto config = caller.config();
  config.gpu.pci = PciAddress::parse("65:00.0");
  EXPECT_EQ(refusal(config), "none");
  config.gpu.pci = PciAddress::parse("66:00.0");
  EXPECT_EQ(refusal(config), "DeviceNotFound");
  config.gpu = {.ordinal = {}, .uuid = {}, .luid = std::array<std::byte, 8>{}};
  EXPECT_EQ(refusal(config), "PlatformLacks");
}

} // namespace
} // namespace rdmagpu::test
