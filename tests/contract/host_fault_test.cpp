#include <contract/fault.hpp>
#include <contract/os_standin.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/log_capture.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace rdmagpu::test {
namespace {

RdmaGpuBufferConfig hostConfig(HostMemory memory = {}) {
  return {.api = RdmaGpuApi::HostFallback, .slotCount = 4, .frameBytes = 100'001, .host = memory};
}

class HostFault : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(RdmaGpuBuffer::make(hostConfig())); // what is loaded once and kept is no leak
    standin.softUdmabuf(true);
    standin.clearLedger();
  }
  void TearDown() override {
    standin.failCall(0);
    standin.failNamed("", 0);
    EXPECT_EQ(standin.ledger(), "");
    standin.softUdmabuf(false);
  }

  /// Runs `use` on a fresh buffer and collects all that was survived.
  template <class Use>
  Outcome withBuffer(const RdmaGpuBufferConfig& config, Use use) {
    const LogCapture log;
    Outcome outcome;
    {
      const auto buffer = RdmaGpuBuffer::make(config);
      if(!buffer)
        outcome.result = buffer.error();
      else {
        const BufferFacts& facts = buffer->facts();
        outcome.survived = facts.tolerated;
        outcome.survived.push_back(facts.lockError);
        outcome.result = use(*buffer);
      }
    }
    const auto logged = log.errors();
    outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
    return outcome;
  }

  OsStandin& standin = OsStandin::instance();
};

Result<void> none(const RdmaGpuBuffer&) { return {}; }

std::filesystem::directory_iterator pciDevices() {
  std::error_code ignored;
  return std::filesystem::directory_iterator{"/sys/bus/pci/devices", ignored};
}

TEST_F(HostFault, EveryCallOfACreationFailsOnce) {
  everyCallFailsOnce(standin, [&] { return withBuffer(hostConfig(), none); });
}

TEST_F(HostFault, EveryCallOfAStrictCreationFailsOnce) {
  const HostMemory strict{.lock = PageLock::Require, .numaNode = 0};
  everyCallFailsOnce(standin, [&] { return withBuffer(hostConfig(strict), none); });
}

TEST_F(HostFault, EveryCallOfAnAnonymousCreationFailsOnce) {
  everyCallFailsOnce(standin, [&] { return withBuffer(hostConfig({.forbidMemfd = true}), none); });
}

TEST_F(HostFault, EveryCallOfACreationForAPeerFailsOnce) {
  RdmaGpuBufferConfig config = hostConfig();
  // Without a list of devices any address is taken.
  config.peer = PciAddress{};
  for(const auto& entry : pciDevices())
    config.peer = PciAddress::parse(entry.path().filename().string());
  if(const auto made = RdmaGpuBuffer::make(config); !made)
    GTEST_SKIP() << "no PCI device here: " << made.error().message();
  everyCallFailsOnce(standin, [&] { return withBuffer(config, none); });
}

TEST_F(HostFault, EveryCallOfAnExportFailsOnce) {
  everyCallFailsOnce(standin, [&] {
    return withBuffer(hostConfig(), [](const RdmaGpuBuffer& buffer) -> Result<void> {
      const auto region = buffer.exportRegion();
      if(!region)
        return region.error();
      const auto slot = buffer.exportSlot(3);
      if(!slot)
        return slot.error();
      return {};
    });
  });
}

TEST_F(HostFault, EveryCallOfSharingFailsOnce) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  everyCallFailsOnce(standin, [&] {
    // What a failed run left in the socket must not be received by the next.
    char rest[256];
    while(recv(sockets[1], rest, sizeof rest, MSG_DONTWAIT) > 0) {
    }
    std::vector<Error> second;
    Outcome outcome = withBuffer(hostConfig(), [&](const RdmaGpuBuffer& buffer) -> Result<void> {
      const auto shared = buffer.share();
      if(!shared)
        return shared.error();
      if(const auto sent = shared->send(sockets[0]); !sent)
        return sent;
      const auto attached = RdmaGpuBuffer::attach(sockets[1]);
      if(!attached)
        return attached.error();
      second = attached->facts().tolerated;
      second.push_back(attached->facts().lockError);
      return {};
    });
    outcome.survived.insert(outcome.survived.end(), second.begin(), second.end());
    return outcome;
  });
  close(sockets[0]);
  close(sockets[1]);
}

TEST_F(HostFault, EveryCallOfAnInspectionFailsOnce) {
  const std::vector<std::byte> memory(100'000);
  everyCallFailsOnce(standin, [&] {
    const LogCapture log;
    const auto facts = inspect(memory.data(), memory.size());
    return Outcome{facts ? Result<void>{} : Result<void>{facts.error()}, log.errors()};
  });
}

TEST_F(HostFault, EveryCallOfMaxSlotsFailsOnce) {
  everyCallFailsOnce(standin, [&] {
    const LogCapture log;
    const auto most = RdmaGpuBuffer::maxSlots(hostConfig());
    return Outcome{most ? Result<void>{} : Result<void>{most.error()}, log.errors()};
  });
}

TEST_F(HostFault, LockThatIsRequiredIsAnErrorWithItsRemedy) {
  standin.failNamed("mlock", ENOMEM);
  const auto buffer = RdmaGpuBuffer::make(hostConfig({.lock = PageLock::Require}));
  ASSERT_FALSE(buffer);
  EXPECT_STREQ(buffer.error().call, "mlock");
  EXPECT_STREQ(buffer.error().codeName, "ENOMEM");
  EXPECT_STREQ(buffer.error().finding, "memlock-limit");
  EXPECT_EQ(buffer.error().kind, Errc::OutOfMemory);
  EXPECT_GT(buffer.error().available, 0U) << "the limit";
  ASSERT_GE(buffer.error().hints().size(), 3U);
}

TEST_F(HostFault, LockThatIsTriedLeavesItsErrorInTheFacts) {
  standin.failNamed("mlock", EPERM);
  const auto buffer = RdmaGpuBuffer::make(hostConfig());
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->facts().lockedBytes, 0U);
  EXPECT_STREQ(buffer->facts().lockError.codeName, "EPERM");
  EXPECT_EQ(buffer->facts().residentBytes, buffer->facts().committedBytes);
  EXPECT_EQ(buffer->facts().pinnedBy, PinnedBy::Nobody);
}

TEST_F(HostFault, LockThatIsOffIsNotTried) {
  standin.failCall(0);
  const auto buffer = RdmaGpuBuffer::make(hostConfig({.lock = PageLock::Off}));
  ASSERT_TRUE(buffer);
  EXPECT_EQ(standin.calls("mlock"), 0);
  EXPECT_EQ(buffer->facts().lockedBytes, 0U);
  EXPECT_EQ(buffer->facts().lockError.kind, Errc::None);
}

TEST_F(HostFault, RefusedMemfdBecomesAnonymousMemoryAndIsTold) {
  standin.failNamed("memfd_create", ENOSYS);
  const auto buffer = RdmaGpuBuffer::make(hostConfig());
  ASSERT_TRUE(buffer);
  EXPECT_FALSE(buffer->facts().memfd);
  ASSERT_EQ(buffer->facts().tolerated.size(), 1U);
  EXPECT_STREQ(buffer->facts().tolerated.front().call, "memfd_create");
  EXPECT_STREQ(buffer->exportSlot(0).error().codeName, "NotMemfd");
  EXPECT_STREQ(buffer->exportRegion().error().codeName, "NotMemfd");
  EXPECT_STREQ(buffer->exportRegion().error().call, "RdmaGpuBuffer::exportRegion");
  EXPECT_STREQ(buffer->exportSlot(0).error().call, "RdmaGpuBuffer::exportSlot");
  EXPECT_STREQ(buffer->share().error().codeName, "NotMemfd");
}

TEST_F(HostFault, KernelWithoutPopulateIsTouchedInstead) {
  standin.failNamed("madvise", EINVAL);
  const auto buffer = RdmaGpuBuffer::make(hostConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto facts = inspect(buffer->slot(0).gpuVA, buffer->facts().committedBytes);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->residentBytes, buffer->facts().committedBytes);
}

TEST_F(HostFault, RegionBeyondTheUdmabufLimitNamesItAndSlotsStillExport) {
  standin.softUdmabuf(true, 1);
  auto config = hostConfig();
  config.frameBytes = 512 * 1024;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  const auto region = buffer->exportRegion();
  ASSERT_FALSE(region);
  EXPECT_STREQ(region.error().codeName, "UdmabufLimit");
  EXPECT_EQ(region.error().bytes, 4U * 512 * 1024);
  EXPECT_EQ(region.error().available, 1U << 20);
  EXPECT_NE(std::string{region.error().hints().front()}.find("size_limit_mb"), std::string::npos);
  EXPECT_TRUE(buffer->exportSlot(0));
  EXPECT_TRUE(buffer->exportSlot(3));
}

TEST_F(HostFault, NoUdmabufIsUnavailableWithTheReason) {
  standin.softUdmabuf(false);
  standin.failNamed("open /dev/udmabuf", ENOENT);
  const auto buffer = RdmaGpuBuffer::make(hostConfig());
  ASSERT_TRUE(buffer);
  const auto exported = buffer->exportSlot(1);
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().kind, Errc::Unsupported);
  EXPECT_STREQ(exported.error().codeName, "ENOENT");
  EXPECT_EQ(exported.error().slot, 1);
  EXPECT_NE(std::string{exported.error().hints().front()}.find("modprobe udmabuf"), std::string::npos);
}

RdmaGpuBufferConfig forPeerOfDmaBufs() {
  auto config = hostConfig();
  config.api = RdmaGpuApi::Auto;
  config.accepts = {HandoffKind::DmaBuf};
  return config;
}

TEST_F(HostFault, AutoTakesHostMemoryForAPeerOfDmaBufs) {
  EXPECT_GT(*RdmaGpuBuffer::maxSlots(forPeerOfDmaBufs()), 4U);
  const auto buffer = RdmaGpuBuffer::make(forPeerOfDmaBufs());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->backend(), RdmaGpuApi::HostFallback);
  EXPECT_EQ(buffer->proof().exported, Answer::Yes);
  standin.failCall(0);
  EXPECT_TRUE(buffer->exportRegion());
  EXPECT_EQ(standin.calls("UDMABUF_CREATE"), 0) << "it was exported before";
}

TEST_F(HostFault, AutoTakesHostMemoryOfWhichOnlySlotsAreExported) {
  standin.softUdmabuf(true, 1);
  auto config = forPeerOfDmaBufs();
  config.frameBytes = 512 * 1024;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_FALSE(buffer->exportRegion());
  EXPECT_TRUE(buffer->exportSlot(3));
  config.frameBytes = std::size_t{2} << 20;
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "UdmabufLimit");
}

TEST_F(HostFault, AutoHasNothingForAPeerOfDmaBufsWhereNoneCanBeMade) {
  auto config = forPeerOfDmaBufs();
  config.host.forbidMemfd = true;
  const auto forbidden = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(forbidden);
  EXPECT_STREQ(forbidden.error().codeName, "NotMemfd");
  EXPECT_STREQ(forbidden.error().call, "RdmaGpuBuffer::make");
  EXPECT_STREQ(RdmaGpuBuffer::maxSlots(config).error().call, "RdmaGpuBuffer::maxSlots");

  standin.softUdmabuf(false);
  standin.failNamed("open /dev/udmabuf", ENOENT);
  const auto absent = RdmaGpuBuffer::make(forPeerOfDmaBufs());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, Errc::Unsupported);
  EXPECT_STREQ(absent.error().call, "open /dev/udmabuf");
  EXPECT_STREQ(RdmaGpuBuffer::maxSlots(forPeerOfDmaBufs()).error().call, "open /dev/udmabuf");
}

TEST_F(HostFault, ExportsAreOneDmaBufForTheRegionAndOneForEachSlot) {
  const auto buffer = RdmaGpuBuffer::make(hostConfig());
  ASSERT_TRUE(buffer);
  standin.failCall(0);
  const auto a = buffer->exportRegion();
  const auto b = buffer->exportRegion();
  EXPECT_EQ(standin.calls("UDMABUF_CREATE"), 1);
  const auto c = buffer->exportSlot(0);
  const auto d = buffer->exportSlot(1);
  EXPECT_EQ(standin.calls("UDMABUF_CREATE"), 3);
  ASSERT_TRUE(a && b && c && d);
  EXPECT_EQ(fcntl(a->fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(fcntl(c->fd(), F_GETFD), FD_CLOEXEC);
}

TEST_F(HostFault, HugePagesThatAreRequiredAndAbsentAreAnError) {
  const auto buffer = RdmaGpuBuffer::make(hostConfig({.hugePages = HugePages::Require}));
  if(buffer)
    GTEST_SKIP() << "this machine has free huge pages: " << buffer->facts().hugePageBytes;
  EXPECT_STREQ(buffer.error().codeName, "HugePagesExhausted");
  EXPECT_NE(buffer.error().message().find("available 0"), std::string::npos) << buffer.error().message();
  EXPECT_NE(std::string{buffer.error().hints().front()}.find("vm.nr_hugepages"), std::string::npos);
}

TEST_F(HostFault, HugePagesThatAreTriedAndAbsentAreTold) {
  standin.failCall(0);
  const auto buffer = RdmaGpuBuffer::make(hostConfig({.hugePages = HugePages::Try}));
  ASSERT_TRUE(buffer) << buffer.error().message();
  if(buffer->facts().hugePageBytes > 0) {
    EXPECT_EQ(standin.calls("mlock"), 0) << "mlock does nothing for huge pages";
    EXPECT_EQ(buffer->facts().pageBytes, 2U << 20);
  } else {
    ASSERT_FALSE(buffer->facts().tolerated.empty());
    EXPECT_EQ(buffer->facts().tolerated.front().origin, Origin::Os);
    EXPECT_EQ(standin.calls("mlock"), 1);
  }
}

TEST_F(HostFault, NodeThatDoesNotExistIsRefused) {
  for(const int node : {63, 1023, 5000, -2}) {
    const auto buffer = RdmaGpuBuffer::make(hostConfig({.numaNode = node}));
    ASSERT_FALSE(buffer);
    EXPECT_STREQ(buffer.error().codeName, "NodeOutOfRange");
    if(node > 0) {
      EXPECT_EQ(buffer.error().bytes, static_cast<std::uint64_t>(node));
    }
  }
}

TEST_F(HostFault, NodeThatIsAskedForAndRefusedIsAnError) {
  standin.failNamed("mbind", EPERM);
  const auto buffer = RdmaGpuBuffer::make(hostConfig({.numaNode = 0}));
  ASSERT_FALSE(buffer);
  EXPECT_STREQ(buffer.error().call, "mbind");
  EXPECT_EQ(buffer.error().kind, Errc::Permission);
  EXPECT_FALSE(buffer.error().hints().empty());
}

} // namespace
} // namespace rdmagpu::test
