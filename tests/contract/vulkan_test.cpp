#include <backend/vulkan_instance.hpp>
#include <contract/fault.hpp>
#include <contract/vulkan_standin.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <support/log_capture.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rdmagpu::test {
namespace {

using backend::vulkan::Gpu;

class Vulkan : public OnVulkan {
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
  static BackendInfo probed() {
    for(BackendInfo& info : backends()) {
      if(info.api == RdmaGpuApi::Vulkan)
        return info;
    }
    ADD_FAILURE() << "this build has no such backend";
    return {};
  }
};

TEST_F(Vulkan, SlotsAreBuffersWithARemoteAddressEach) {
  const auto buffer = RdmaGpuBuffer::make(vulkanConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(kind(buffer->handoff(i)), HandoffKind::VulkanRemoteAddress);
    EXPECT_NE(addressBits(buffer->handoff(i)), 0U);
    EXPECT_EQ(cpuAddress(buffer->handoff(i)), nullptr); // not the CPU's to dereference
    EXPECT_NE(buffer->slot(i).opaque, nullptr);
    EXPECT_EQ(buffer->slotOffset(i), 0U);
  }
  const BufferFacts& facts = buffer->facts();
  EXPECT_EQ(facts.regionCount, 4U);
  EXPECT_EQ(facts.device, "rdmagpu software device (Vulkan)");
  EXPECT_EQ(facts.pci->text(), "0000:65:00.0");
  EXPECT_EQ(facts.rdmaCapable, Answer::Yes);
  EXPECT_EQ(facts.directForGpu, Answer::Yes);
  EXPECT_EQ(facts.pageBytes, 65536U);
  EXPECT_EQ(facts.bar1Bytes, 1U << 30);
  EXPECT_EQ(facts.bar1FreeBytes, 1U << 30);
}

TEST_F(Vulkan, WhatAPeerWritesAtTheRemoteAddressIsInTheSlot) {
  const auto buffer =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::Vulkan, .slotCount = 2, .frameBytes = 9U << 20});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto sent = numbered(9U << 20, 1);
  const std::uint64_t address = addressBits(buffer->handoff(1));
  std::thread{[&] { // knows the address, and nothing of Vulkan
    std::memcpy(reinterpret_cast<void*>(address), sent.data(), sent.size());
  }}
      .join();
  std::vector<std::byte> back(sent.size());
  ASSERT_TRUE(buffer->download(1, back));
  EXPECT_TRUE(back == sent);
  EXPECT_EQ(*buffer->checksum(1, sent.size()), checksum(sent));
}

TEST_F(Vulkan, WhatIsUploadedAPeerReadsAtTheRemoteAddress) {
  const auto buffer =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::Vulkan, .slotCount = 2, .frameBytes = 9U << 20});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto sent = numbered(9U << 20, 2);
  ASSERT_TRUE(buffer->upload(0, sent));
  const std::uint64_t address = addressBits(buffer->handoff(0));
  bool same = false;
  std::thread{[&] {
    same = std::memcmp(reinterpret_cast<void*>(address), sent.data(), sent.size()) == 0;
  }}.join();
  EXPECT_TRUE(same);
}

TEST_F(Vulkan, SlotsAreClearedWhereThatIsAsked) {
  auto config = vulkanConfig();
  config.zeroFill = true;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  const auto* const bytes = reinterpret_cast<const std::byte*>(addressBits(buffer->handoff(3)));
  EXPECT_TRUE(std::all_of(bytes, bytes + buffer->slot(3).size, [](std::byte b) { return b == std::byte{}; }));
}

TEST_F(Vulkan, EachAbsenceIsItsOwnErrorAndSaysWhatToDo) {
  for(const auto& [mode, code] : {std::pair{"vulkan-1.0", "VulkanTooOld"},
                                  {"no-extension", "VulkanNoRdma"},
                                  {"no-feature", "VulkanRdmaOff"},
                                  {"no-export", "VulkanNoAddressExport"},
                                  {"no-memory", "VulkanNoRdmaMemory"},
                                  {"memory-not-for-buffers", "VulkanNoRdmaMemory"},
                                  {"null-address", "VulkanNoAddress"}}) {
    standin.mode(mode);
    const auto refused = RdmaGpuBuffer::make(vulkanConfig());
    ASSERT_FALSE(refused) << mode;
    EXPECT_STREQ(refused.error().codeName, code) << mode;
    EXPECT_FALSE(refused.error().hints().empty()) << mode;
    EXPECT_EQ(standin.ledger(), "") << mode;
  }
  standin.mode("no-address");
  const auto refused = RdmaGpuBuffer::make(vulkanConfig());
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().call, "vkGetMemoryRemoteAddressNV");
  EXPECT_STREQ(refused.error().codeName, "VK_ERROR_INVALID_EXTERNAL_HANDLE");
  EXPECT_TRUE(hintsName(refused.error(), "nvidia_peermem"));
}

TEST_F(Vulkan, AbsencesAreListedWithTheirReason) {
  EXPECT_TRUE(probed().available);
  EXPECT_EQ(probed().reason.kind, Errc::None);
  EXPECT_EQ(probed().devices.at(0).rdmaCapable, Answer::Yes);
  standin.mode("no-extension");
  EXPECT_FALSE(probed().available);
  EXPECT_STREQ(probed().reason.codeName, "VulkanNoRdma");
  EXPECT_EQ(probed().devices.at(0).rdmaCapable, Answer::No);
  standin.mode("no-device");
  EXPECT_STREQ(probed().reason.call, "vkEnumeratePhysicalDevices");
  EXPECT_EQ(probed().reason.kind, Errc::NotFound);
  EXPECT_TRUE(hintsName(probed().reason, "vulkaninfo"));
  EXPECT_TRUE(probed().devices.empty());
}

TEST_F(Vulkan, ProbingCreatesNoDevice) {
  standin.failCall(0);
  EXPECT_TRUE(probed().available);
  EXPECT_EQ(standin.calls("vkCreateInstance"), 1);
  EXPECT_EQ(standin.calls("vkCreateDevice"), 0);
}

TEST_F(Vulkan, AlignmentOfTheAddressesIsTold) {
  standin.mode("unaligned");
  const auto buffer = RdmaGpuBuffer::make(vulkanConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().pageBytes, 4096U);
}

TEST_F(Vulkan, MoreThanPeersReachIsRefusedWithBothFigures) {
  standin.mode("small-heap"); // 64 MiB
  const RdmaGpuBufferConfig config{.api = RdmaGpuApi::Vulkan, .slotCount = 3, .frameBytes = 20U << 20};
  const auto refused = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "VulkanBudgetExceeded");
  EXPECT_EQ(refused.error().bytes, 60U << 20);
  EXPECT_EQ(refused.error().available, 56U << 20); // less a reserve of an eighth
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(config), 2U);
}

TEST_F(Vulkan, WhatIsHeldAlreadyIsNotFree) {
  standin.mode("small-heap");
  const RdmaGpuBufferConfig half{.api = RdmaGpuApi::Vulkan, .slotCount = 2, .frameBytes = 16U << 20};
  const auto held = RdmaGpuBuffer::make(half);
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(half), 1U);
  const RdmaGpuBufferConfig one{.api = RdmaGpuApi::Vulkan, .slotCount = 1, .frameBytes = 1};
  EXPECT_EQ(RdmaGpuBuffer::make(one)->facts().bar1FreeBytes, 32U << 20);
  standin.mode("no-budget"); // then all counts as free
  EXPECT_EQ(RdmaGpuBuffer::make(one)->facts().bar1FreeBytes, 1U << 30);
}

TEST_F(Vulkan, BudgetThatIsIgnoredIsTheDriversToRefuse) {
  standin.mode("small-heap");
  const RdmaGpuBufferConfig config{
      .api = RdmaGpuApi::Vulkan, .slotCount = 3, .frameBytes = 25U << 20, .ignoreBudget = true};
  const auto refused = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().call, "vkAllocateMemory");
  EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
  EXPECT_EQ(refused.error().slot, 2);
  EXPECT_EQ(refused.error().bytes, 25U << 20);
  EXPECT_EQ(refused.error().available, 14U << 20);
}

TEST_F(Vulkan, SlotsAreNoMoreThanAllocationsAreAllowed) {
  standin.mode("few-allocations"); // five, of which one is for copies
  EXPECT_TRUE(RdmaGpuBuffer::make(vulkanConfig()));
  auto config = vulkanConfig();
  config.slotCount = 5;
  EXPECT_EQ(refusal(config), "VulkanTooManySlots");
  EXPECT_EQ(*RdmaGpuBuffer::maxSlots(config), 4U);
}

TEST_F(Vulkan, UsageIsTheOneThatIsAskedAndTransfers) {
  auto config = vulkanConfig();
  config.vulkan.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
  ASSERT_TRUE(RdmaGpuBuffer::make(config));
  EXPECT_EQ(standin.lastUsage(), VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  standin.mode("no-vertex-export");
  EXPECT_EQ(refusal(config), "VulkanUsageNotExported");
  config.vulkan.usage = 0;
  ASSERT_TRUE(RdmaGpuBuffer::make(config));
  EXPECT_EQ(standin.lastUsage(), backend::vulkan::slotUsage);
}

TEST_F(Vulkan, GpuIsTheOneThatIsNamed) {
  auto config = vulkanConfig();
  config.gpu.pci = PciAddress::parse("65:00.0");
  config.gpu.ordinal = 0;
  EXPECT_EQ(refusal(config), "none");
  config.gpu.pci = PciAddress::parse("66:00.0");
  EXPECT_EQ(refusal(config), "DeviceNotFound");
  config.gpu = {.ordinal = 1, .uuid = {}, .luid = {}};
  EXPECT_EQ(refusal(config), "DeviceOutOfRange");
  config.gpu.ordinal = -1;
  EXPECT_EQ(refusal(config), "OrdinalNegative");
  config.gpu = {.ordinal = {}, .uuid = {}, .luid = std::array<std::byte, 8>{}};
  EXPECT_EQ(refusal(config), "PlatformLacks");
}

/// GPUs as their drivers would describe them.
class VulkanGpus : public testing::Test {
protected:
  static Gpu gpu(std::int32_t ordinal, const char* pci) {
    Gpu made{
        .ordinal = ordinal, .name = pci, .apiVersion = VK_API_VERSION_1_1, .pci = PciAddress::parse(pci)};
    made.uuid[0] = static_cast<std::byte>(ordinal + 1);
    made.rdmaExtension = made.rdmaFeature = made.exportsAddresses = true;
    made.memory.memoryTypeCount = 1;
    made.memory.memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV;
    return made;
  }
  int chosen(const RdmaGpuBufferConfig& config) const {
    const auto found = chooseGpu(gpus, config);
    return found ? found->ordinal : -1;
  }

  std::vector<Gpu> gpus{gpu(0, "03:00.0"), gpu(1, "04:00.0")};
};

TEST_F(VulkanGpus, FirstThatPeersReachIsTaken) {
  EXPECT_EQ(chosen({}), 0);
  gpus[0].rdmaExtension = false;
  EXPECT_EQ(chosen({}), 1);
  gpus[1].rdmaFeature = false;
  EXPECT_EQ(chosen({}), 0); // whose lack is told
}

TEST_F(VulkanGpus, SelectorsMustAgree) {
  RdmaGpuBufferConfig config;
  config.gpu.pci = PciAddress::parse("04:00.0");
  EXPECT_EQ(chosen(config), 1);
  config.gpu.uuid = gpus[1].uuid;
  EXPECT_EQ(chosen(config), 1);
  config.gpu.ordinal = 0;
  EXPECT_STREQ(chooseGpu(gpus, config).error().codeName, "GpuSelectorConflict");
  config.gpu = {.ordinal = {}, .uuid = std::array<std::byte, 16>{}, .luid = {}};
  EXPECT_STREQ(chooseGpu(gpus, config).error().codeName, "DeviceNotFound");
}

TEST_F(Vulkan, AutoDoesNotTakeIt) {
  const auto refused = RdmaGpuBuffer::make({.api = RdmaGpuApi::Auto,
                                            .slotCount = 1,
                                            .frameBytes = 1,
                                            .accepts = {HandoffKind::VulkanRemoteAddress}});
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "NoBackendFits");
}

TEST_F(Vulkan, IsNeitherExportedNorSharedNorCopiedByItself) {
  const auto buffer = RdmaGpuBuffer::make(vulkanConfig());
  ASSERT_TRUE(buffer);
  EXPECT_STREQ(buffer->exportRegion().error().codeName, "NotExportable");
  EXPECT_STREQ(buffer->exportSlot(0).error().codeName, "NotExportable");
  EXPECT_STREQ(buffer->share().error().codeName, "NotShareable");
  EXPECT_STREQ(CopyQueue::make(*buffer).error().codeName, "NotCopyable");
}

TEST_F(Vulkan, SlotThatIsHeldOutlivesTheBuffer) {
  auto buffer = RdmaGpuBuffer::make(vulkanConfig());
  ASSERT_TRUE(buffer);
  auto held = buffer->keepAlive(2);
  const std::uint64_t address = addressBits(buffer->handoff(2));
  buffer->destroy();
  EXPECT_EQ(standin.ledger(),
            "2 allocations; 2 buffers; 1 command pools; 1 devices; 1 fences; 1 instances; ");
  std::memset(reinterpret_cast<void*>(address), 1, 1000);
  held.reset();
  EXPECT_EQ(standin.ledger(), "");
}

TEST_F(Vulkan, ForkedChildFreesAndScrubsNothingOfItsParents) {
  auto config = vulkanConfig();
  config.scrubOnDestroy = true;
  auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  std::array<std::byte, 100> sent{};
  sent.fill(std::byte{77});
  ASSERT_TRUE(buffer->upload(0, sent));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const auto refused = [](const Error& error) { return std::string_view{error.codeName} == "ForkedChild"; };
    int failures = refused(buffer->upload(0, sent).error()) ? 0 : 1;
    failures |= refused(RdmaGpuBuffer::make(config).error()) ? 0 : 2;
    failures |= refused(buffer->checksum(0, 100).error()) ? 0 : 4;
    failures |= refused(buffer->clear(0).error()) ? 0 : 8;
    buffer->destroy();
    _exit(failures);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::array<std::byte, 100> back{};
  ASSERT_TRUE(buffer->download(0, back));
  EXPECT_EQ(back, sent);
}

TEST_F(Vulkan, WaitThatFailsLeavesNoCopyUnderWay) {
  const LogCapture log;
  const auto buffer = RdmaGpuBuffer::make(vulkanConfig());
  ASSERT_TRUE(buffer);
  const auto sent = numbered(1000, 5);
  standin.failNamed("vkWaitForFences", VK_ERROR_DEVICE_LOST);
  const auto failed = buffer->upload(0, sent);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, Errc::Lost);
  EXPECT_TRUE(hintsName(failed.error(), "dmesg"));
  standin.failNamed("", VK_SUCCESS);
  ASSERT_TRUE(buffer->upload(0, sent)); // the commands can be recorded anew
  std::vector<std::byte> back(1000);
  ASSERT_TRUE(buffer->download(0, back));
  EXPECT_TRUE(back == sent);
  EXPECT_TRUE(log.errors().empty());
}

} // namespace
} // namespace rdmagpu::test
