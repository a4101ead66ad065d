#include <contract/fault.hpp>
#include <contract/os_standin.hpp>
#include <contract/p2pmem_tree.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::test {
namespace {

constexpr const char* device = "0000:03:00.0";
constexpr std::uint64_t deviceBytes = 2U << 20;

RdmaGpuBufferConfig p2pConfig() { return {.api = RdmaGpuApi::PciP2p, .slotCount = 4, .frameBytes = 100'001}; }

/// On a /sys of our own: what it lacks is that mappings take memory from each other.
class PciP2p : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = 1}));
    sys.publish(device, deviceBytes);
    standin.clearLedger();
  }
  void TearDown() override {
    standin.failCall(0);
    standin.failNamed("", 0);
    EXPECT_EQ(standin.ledger(), "");
  }

  std::string chosen(const RdmaGpuBufferConfig& config) const {
    const auto buffer = sys.make(config);
    return buffer ? buffer->facts().pci->text() : buffer.error().codeName;
  }
  static std::vector<std::byte> contents(const RdmaGpuBuffer& buffer, std::size_t slot) {
    std::vector<std::byte> bytes(buffer.slot(slot).size);
    EXPECT_TRUE(buffer.download(slot, bytes));
    return bytes;
  }
  static bool holds(const RdmaGpuBuffer& buffer, std::size_t slot, unsigned char value) {
    return std::ranges::all_of(contents(buffer, slot),
                               [value](std::byte b) { return b == std::byte{value}; });
  }
  static void fillAll(const RdmaGpuBuffer& buffer, unsigned char value) {
    for(std::size_t i = 0; i < buffer.slotCount(); ++i)
      ASSERT_TRUE(buffer.upload(i, std::vector<std::byte>(buffer.slot(i).size, std::byte{value})));
  }

  P2pmemTree sys;
  OsStandin& standin = OsStandin::instance();
};

TEST_F(PciP2p, SlotsAreTheCpusMappingOfTheDevicesMemory) {
  sys.tree().write("/sys/bus/pci/devices/0000:03:00.0/numa_node", "1\n");
  sys.tree().link("/sys/bus/pci/devices/0000:03:00.0/driver", "../../../bus/pci/drivers/nvme");
  const auto buffer = sys.make(p2pConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(kind(buffer->handoff(1)), HandoffKind::PciMapping);
  EXPECT_EQ(cpuAddress(buffer->handoff(1)), buffer->slot(1).gpuVA);
  EXPECT_EQ(buffer->slotOffset(1), 131'072U);
  const BufferFacts& facts = buffer->facts();
  EXPECT_EQ(facts.api, RdmaGpuApi::PciP2p);
  EXPECT_EQ(facts.pci->text(), device);
  EXPECT_NE(facts.device.find("nvme"), std::string::npos);
  EXPECT_EQ(facts.regionCount, 1U);
  EXPECT_EQ(facts.committedBytes, 4U * 131'072);
  EXPECT_EQ(facts.p2pmemBytes, deviceBytes);
  EXPECT_EQ(facts.p2pmemFreeBytes, deviceBytes - P2pmemTree::reserved);
  EXPECT_EQ(facts.numaNode, 1);
  EXPECT_EQ(facts.rdmaCapable, Answer::Yes);
  EXPECT_EQ(buffer->proof().capable, Answer::Yes);
}

TEST_F(PciP2p, MemoryThatItsDriverHasNotPublishedIsNotCalledCapable) {
  sys.publish(device, deviceBytes, false);
  const auto buffer = sys.make(p2pConfig());
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::No);
}

TEST_F(PciP2p, MemoryHoldsWhatItsLastUserLeftUnlessItIsToBeCleared) {
  fillAll(*sys.make(p2pConfig()), 0xA5);
  EXPECT_TRUE(holds(*sys.make(p2pConfig()), 3, 0xA5));
  auto config = p2pConfig();
  config.zeroFill = true;
  EXPECT_TRUE(holds(*sys.make(config), 3, 0));
}

TEST_F(PciP2p, SlotsAreScrubbedOnDestruction) {
  auto config = p2pConfig();
  config.scrubOnDestroy = true;
  fillAll(*sys.make(config), 0xA5);
  EXPECT_TRUE(holds(*sys.make(p2pConfig()), 3, 0));
}

TEST_F(PciP2p, AForkedChildScrubsNothingOfItsParents) {
  auto config = p2pConfig();
  config.scrubOnDestroy = true;
  auto buffer = sys.make(config);
  ASSERT_TRUE(buffer);
  fillAll(*buffer, 0xA5);
  const pid_t child = fork();
  if(child == 0) {
    buffer->destroy();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(holds(*buffer, 0, 0xA5));
}

TEST_F(PciP2p, NoDescriptorStaysOpen) {
  const auto buffer = sys.make(p2pConfig());
  ASSERT_TRUE(buffer);
  EXPECT_EQ(standin.ledger().find("fd"), std::string::npos) << standin.ledger();
}

TEST_F(PciP2p, CopiesAreDoneWhenTheirCallsReturn) {
  const auto buffer = sys.make(p2pConfig());
  ASSERT_TRUE(buffer);
  auto queue = CopyQueue::make(*buffer);
  ASSERT_TRUE(queue);
  const std::byte sent{7};
  EXPECT_TRUE(queue->upload(1, {&sent, 1})->done());
  EXPECT_EQ(*static_cast<std::byte*>(buffer->slot(1).gpuVA), sent);
  EXPECT_STREQ(CopyQueue::make(*buffer, {.stream = CudaStream{}}).error().codeName, "StreamOfOtherGpu");
}

TEST_F(PciP2p, IsNeitherExportedNorShared) {
  const auto buffer = sys.make(p2pConfig());
  ASSERT_TRUE(buffer);
  EXPECT_STREQ(buffer->exportRegion().error().codeName, "NotExportable");
  EXPECT_STREQ(buffer->share().error().codeName, "NotShareable");
}

TEST_F(PciP2p, DeviceIsTheOneThatIsNamed) {
  sys.publish("0000:04:00.0", deviceBytes);
  auto config = p2pConfig();
  EXPECT_EQ(chosen(config), device);
  config.gpu.pci = PciAddress::parse("04:00.0");
  EXPECT_EQ(chosen(config), "0000:04:00.0");
  config.gpu.ordinal = 1;
  EXPECT_EQ(chosen(config), "0000:04:00.0");
  config.gpu.ordinal = 0;
  EXPECT_EQ(chosen(config), "GpuSelectorConflict");
  config.gpu.pci.reset();
  EXPECT_EQ(chosen(config), device);
}

TEST_F(PciP2p, DeviceThatIsNamedAndHasNoneIsAnError) {
  auto config = p2pConfig();
  config.gpu.pci = PciAddress::parse("05:00.0");
  const auto refused = sys.make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "P2pmemDevice");
  EXPECT_EQ(refused.error().kind, Errc::NotFound);
  EXPECT_EQ(refused.error().pci, config.gpu.pci);
  for(const int ordinal : {1, -1}) {
    config.gpu = {.ordinal = ordinal, .uuid = {}, .luid = {}};
    EXPECT_EQ(chosen(config), "P2pmemDevice") << ordinal;
  }
  config.gpu = {.ordinal = {}, .uuid = std::array<std::byte, 16>{}, .luid = {}};
  EXPECT_EQ(chosen(config), "P2pmemSelector");
}

TEST_F(PciP2p, DeviceIsTheNearestToThePeer) {
  const std::string devices = "/sys/bus/pci/devices/";
  P2pmemTree apart;
  for(const char* name : {"0000:03:00.0", "0000:81:00.0"}) {
    const std::string root =
        std::string{name}.substr(5, 2) == "03" ? "pci0000:00/0000:00:01.0" : "pci0000:80/0000:80:01.0";
    apart.tree().write("/devices/" + root + "/" + name + "/p2pmem/allocate", "");
    std::filesystem::resize_file(apart.root() + "/devices/" + root + "/" + name + "/p2pmem/allocate",
                                 deviceBytes);
    apart.tree().write("/devices/" + root + "/" + name + "/p2pmem/available", std::to_string(deviceBytes));
    apart.tree().link(devices + name, "../../../../devices/" + root + "/" + name);
  }
  apart.tree().link(devices + "0000:82:00.0", "../../../../devices/pci0000:80/0000:80:02.0/0000:82:00.0");
  auto config = p2pConfig();
  EXPECT_EQ(apart.make(config)->facts().pci->text(), "0000:03:00.0");
  config.peer = PciAddress::parse("82:00.0");
  EXPECT_EQ(apart.make(config)->facts().pci->text(), "0000:81:00.0");
}

TEST_F(PciP2p, MachineWithoutSuchMemorySaysWhatItTakes) {
  const P2pmemTree none;
  const auto refused = none.make(p2pConfig());
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "P2pmemAbsent");
  EXPECT_TRUE(hintsName(refused.error(), "CONFIG_PCI_P2PDMA"));
  EXPECT_TRUE(hintsName(refused.error(), "nvme driver"));
  const auto info = backend::pci_p2p::probe(none.root());
  EXPECT_FALSE(info.available);
  EXPECT_STREQ(info.reason.codeName, "P2pmemAbsent");
}

TEST_F(PciP2p, KernelThatKeepsItToDriversIsTooOld) {
  sys.remove(device, "allocate");
  const auto refused = sys.make(p2pConfig());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::TooOld);
  EXPECT_TRUE(hintsName(refused.error(), "6.2"));
  EXPECT_EQ(refused.error().pci->text(), device);
  EXPECT_STREQ(backend::pci_p2p::probe(sys.root()).reason.codeName, "P2pmemTooOld");
}

TEST_F(PciP2p, IsListedWithItsDevices) {
  sys.publish("0000:04:00.0", deviceBytes, false);
  const auto info = backend::pci_p2p::probe(sys.root());
  EXPECT_TRUE(info.available);
  ASSERT_EQ(info.devices.size(), 2U);
  EXPECT_EQ(info.devices[0].pci->text(), device);
  EXPECT_EQ(info.devices[0].rdmaCapable, Answer::Yes);
  EXPECT_EQ(info.devices[1].rdmaCapable, Answer::No);
}

TEST_F(PciP2p, MoreThanIsFreeNamesBothFigures) {
  auto config = p2pConfig();
  config.slotCount = 16; // all of it, of which its driver has some
  const auto refused = sys.make(config);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "P2pmemExhausted");
  EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
  EXPECT_EQ(refused.error().bytes, 16U * 131'072);
  EXPECT_EQ(refused.error().available, deviceBytes - P2pmemTree::reserved);
  config.slotCount = 15;
  EXPECT_TRUE(sys.make(config));
}

TEST_F(PciP2p, MemoryInPiecesIsExhausted) {
  standin.failNamed("mmap", ENOMEM);
  const auto refused = sys.make(p2pConfig());
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "P2pmemExhausted");
  EXPECT_EQ(refused.error().bytes, 4U * 131'072);
  EXPECT_EQ(refused.error().available, deviceBytes - P2pmemTree::reserved);
}

TEST_F(PciP2p, RefusalsOfTheKernelSayWhatToDo) {
  for(const auto& [code, kind, word] :
      {std::tuple{EACCES, Errc::Permission, "root"}, {EBUSY, Errc::Busy, "bind"}}) {
    standin.failNamed("open p2pmem/allocate", code);
    const auto refused = sys.make(p2pConfig());
    ASSERT_FALSE(refused);
    EXPECT_STREQ(refused.error().call, "open p2pmem/allocate");
    EXPECT_EQ(refused.error().kind, kind);
    EXPECT_TRUE(hintsName(refused.error(), word)) << code;
    EXPECT_EQ(refused.error().pci->text(), device);
  }
  standin.failNamed("mmap", ENODEV);
  EXPECT_TRUE(hintsName(sys.make(p2pConfig()).error(), "driver"));
}

TEST_F(PciP2p, EveryCallOfACreationFailsOnce) {
  everyCallFailsOnce(standin, [&] {
    const LogCapture log;
    auto config = p2pConfig();
    config.zeroFill = config.scrubOnDestroy = true;
    Outcome outcome;
    {
      const auto buffer = sys.make(config);
      if(!buffer)
        outcome.result = buffer.error();
    }
    outcome.survived = log.errors();
    return outcome;
  });
}

TEST_F(PciP2p, IsNeverTakenByAuto) {
  const auto refused = RdmaGpuBuffer::make(
      {.api = RdmaGpuApi::Auto, .slotCount = 1, .frameBytes = 1, .accepts = {HandoffKind::PciMapping}});
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "NoBackendFits");
}

} // namespace
} // namespace rdmagpu::test
