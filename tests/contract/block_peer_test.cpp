#include <contract/fault.hpp>
#include <contract/os_standin.hpp>
#include <contract/p2pmem_tree.hpp>
#include <rdmagpu/block_peer.hpp>
#include <support/log_capture.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::test {
namespace {

constexpr std::uint32_t slots = 3;
constexpr std::size_t slotBytes = 131'072;

/// A regular file in the place of a drive: the kernel's own direct I/O, and no device.
class BlockPeerTest : public testing::Test {
protected:
  void SetUp() override {
    std::string text(slotBytes * 5, '\0');
    unsigned value = 1;
    for(char& c : text)
      c = static_cast<char>((value = value * 1664525 + 1013904223) >> 24U);
    m_tree.write("/drive", text);
    held = std::move(text);
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    if(fd < 0)
      GTEST_SKIP() << "the file system of " << path << " does no direct I/O";
    close(fd);
    sys.publish("0000:03:00.0", slotBytes * (slots + 2));
    host =
        *RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = slots, .frameBytes = slotBytes});
    pci = *sys.make({.api = RdmaGpuApi::PciP2p, .slotCount = slots, .frameBytes = slotBytes});
  }
  void TearDown() override {
    standin.failCall(0);
    standin.failNamed("", 0);
    standin.loseDirect(nullptr, 0);
  }

  std::string now() const {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  BlockPeer openPeer(const RdmaGpuBuffer& buffer, bool overwrite = false) const {
    auto peer = BlockPeer::open(buffer, path, {.overwrite = overwrite});
    EXPECT_TRUE(peer) << peer.error().message();
    return *std::move(peer);
  }
  VerifyReport report(const RdmaGpuBuffer& buffer, bool overwrite, const VerifyOptions& options = {}) const {
    auto peer = openPeer(buffer, overwrite);
    auto verified = verify(buffer, peer, options);
    EXPECT_TRUE(verified) << verified.error().message();
    return *std::move(verified);
  }
  /// All slots, as they lie one behind the other.
  void lose(const RdmaGpuBuffer& buffer, std::ptrdiff_t elsewhere = 0) const {
    standin.loseDirect(buffer.slot(0).gpuVA, slots * slotBytes, elsewhere);
  }

  TempTree m_tree;
  const std::string path = m_tree.root() + "/drive";
  std::string held;
  P2pmemTree sys;
  RdmaGpuBuffer host;
  RdmaGpuBuffer pci;
  OsStandin& standin = OsStandin::instance();
};

TEST_F(BlockPeerTest, ADriveThatIsOnlyReadProvesThatDirection) {
  for(const RdmaGpuBuffer* buffer : {&host, &pci}) {
    const auto proven = report(*buffer, false);
    EXPECT_EQ(proven.write, Answer::Yes);
    EXPECT_EQ(proven.read, Answer::Unknown);
    EXPECT_STREQ(proven.readError.codeName, "BlockReadOnly");
    EXPECT_EQ(proven.proof.written, Answer::Yes);
    EXPECT_EQ(proven.proof.by, Agent::Software);
    EXPECT_TRUE(proven.failures.empty());
    EXPECT_TRUE(now() == held);
    const std::string second(static_cast<const char*>(buffer->slot(1).gpuVA), slotBytes);
    EXPECT_TRUE(second == held.substr(slotBytes, slotBytes));
  }
}

TEST_F(BlockPeerTest, WhatIsBehindTheBytesStaysAsItIs) {
  EXPECT_EQ(report(host, false, {.bytes = 8192}).write, Answer::Yes);
  EXPECT_EQ(report(host, true, {.bytes = 8192}).write, Answer::Yes);
}

TEST_F(BlockPeerTest, OneThatMayBeOverwrittenProvesBoth) {
  for(const RdmaGpuBuffer* buffer : {&host, &pci}) {
    const auto proven = report(*buffer, true);
    EXPECT_EQ(proven.write, Answer::Yes);
    EXPECT_EQ(proven.read, Answer::Yes);
    EXPECT_EQ(proven.readError.kind, Errc::None);
  }
  const auto peer = openPeer(host, true);
  EXPECT_EQ(peer.overwritten(slotBytes), slotBytes);
  EXPECT_TRUE(now().substr(slotBytes) == held.substr(slotBytes)) << "more was overwritten than it says";
}

TEST_F(BlockPeerTest, CallsThatSucceedAndMoveNothingAreFailures) {
  lose(pci);
  const auto read = report(pci, false);
  EXPECT_EQ(read.write, Answer::No);
  ASSERT_EQ(read.failures.size(), slots);
  EXPECT_TRUE(read.failures[0].untouched);
  EXPECT_EQ(read.failures[0].wrongBytes, slotBytes);
  EXPECT_EQ(read.proof.written, Answer::No);

  const auto both = report(pci, true);
  EXPECT_EQ(both.write, Answer::No);
  EXPECT_EQ(both.read, Answer::No);
  EXPECT_EQ(both.failures.size(), 2 * slots);
}

TEST_F(BlockPeerTest, BytesInAnotherSlotAreHarmThere) {
  standin.loseDirect(host.slot(1).gpuVA, slotBytes, slotBytes);
  auto later = report(host, false);
  EXPECT_EQ(later.write, Answer::No);
  ASSERT_EQ(later.failures.size(), 2U);
  EXPECT_EQ(later.failures[0].slot, 1U);
  EXPECT_EQ(later.failures[1].slot, 2U);

  standin.loseDirect(host.slot(2).gpuVA, slotBytes, -2 * static_cast<std::ptrdiff_t>(slotBytes));
  auto earlier = report(host, false);
  ASSERT_EQ(earlier.failures.size(), 2U);
  EXPECT_EQ(earlier.failures[0].slot, 2U);
  EXPECT_EQ(earlier.failures[1].slot, 0U);
}

TEST_F(BlockPeerTest, RefusalsOfForeignMemoryAreAnswersWithTheirReason) {
  auto peer = openPeer(pci, true);
  for(const auto& [code, word] : {std::pair{EREMOTEIO, "driver"}, {EINVAL, "switch"}, {EFAULT, "pages"}}) {
    standin.failNamed("pread O_DIRECT", code);
    const auto refused = verify(pci, peer);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->write, Answer::Unknown);
    EXPECT_EQ(refused->writeError.kind, Errc::Unsupported);
    EXPECT_EQ(refused->writeError.code, code);
    EXPECT_STREQ(refused->writeError.call, "pread O_DIRECT");
    EXPECT_TRUE(hintsName(refused->writeError, word)) << code;
    EXPECT_EQ(refused->writeError.slot, 0);
    standin.failNamed("pwrite O_DIRECT", code);
    std::vector<std::byte> bytes(4096);
    EXPECT_FALSE(peer.read(0, bytes));
  }
  standin.failNamed("", 0);
  EXPECT_EQ(verify(pci, peer)->write, Answer::Yes);
}

TEST_F(BlockPeerTest, RefusalOfHostMemoryIsAFailure) {
  auto peer = openPeer(host, true);
  standin.failNamed("pread O_DIRECT", EINVAL);
  const auto refused = verify(host, peer);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->write, Answer::No);
  EXPECT_EQ(refused->failures.size(), 2 * slots);
}

TEST_F(BlockPeerTest, AnyOtherVerifyIsToldThatTheDriveIsOnlyRead) {
  auto peer = openPeer(host);
  const auto untried = verify(host, static_cast<Peer&>(peer));
  ASSERT_TRUE(untried);
  EXPECT_EQ(untried->write, Answer::Unknown);
  EXPECT_EQ(untried->read, Answer::Unknown);
  EXPECT_STREQ(untried->writeError.codeName, "BlockReadOnly");
  EXPECT_TRUE(now() == held);
}

TEST_F(BlockPeerTest, WhatDoesNotFitIsRefused) {
  auto peer = openPeer(host, true);
  std::vector<std::byte> bytes(slotBytes + 4096);
  const auto code = [](const Result<void>& result) {
    return std::string{result ? "" : result.error().codeName};
  };
  EXPECT_EQ(code(peer.write(0, bytes)), "RangeOutOfSlot");
  EXPECT_EQ(code(peer.read(slots, std::span{bytes}.first(4096))), "SlotOutOfRange");
  EXPECT_EQ(code(peer.write(0, std::span{bytes}.first(4097))), "BlockPartial");
  EXPECT_EQ(code(peer.read(0, std::span{bytes}.first(100))), "BlockPartial");
  EXPECT_EQ(code(peer.fill(slots, 4096)), "SlotOutOfRange");
  const auto tooMuch = verify(host, peer, {.bytes = slotBytes + 1});
  EXPECT_STREQ(tooMuch.error().codeName, "RangeOutOfSlot");
  auto reader = openPeer(host);
  EXPECT_STREQ(verify(host, reader, {.bytes = slotBytes + 1}).error().codeName, "RangeOutOfSlot");
  EXPECT_STREQ(verify(RdmaGpuBuffer{}, reader).error().codeName, "BufferEmpty");
}

TEST_F(BlockPeerTest, DriveThatIsTooSmallNamesBothFigures) {
  ASSERT_EQ(truncate(path.c_str(), 4096), 0);
  auto peer = openPeer(host);
  const auto refused = verify(host, peer);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "BlockTooSmall");
  EXPECT_EQ(refused.error().bytes, slotBytes);
  EXPECT_EQ(refused.error().available, 4096U);
}

TEST_F(BlockPeerTest, DriveThatBecomesSmallerIsSeen) {
  auto peer = openPeer(host);
  ASSERT_EQ(truncate(path.c_str(), 4096), 0);
  const auto refused = verify(host, peer);
  ASSERT_FALSE(refused);
  EXPECT_STREQ(refused.error().codeName, "BlockEnded");
  EXPECT_EQ(refused.error().bytes, slotBytes);
  EXPECT_EQ(refused.error().available, 4096U);
}

TEST_F(BlockPeerTest, OnlyDrivesAndFilesAreTaken) {
  ASSERT_EQ(mkfifo((path + "-fifo").c_str(), 0600), 0);
  for(const std::string& other : {m_tree.root(), path + "-fifo", std::string{"/dev/null"}})
    EXPECT_STREQ(BlockPeer::open(host, other).error().codeName, "NotBlock") << other;
  EXPECT_STREQ(BlockPeer::open(host, path + "-absent").error().codeName, "ENOENT");
  EXPECT_STREQ(BlockPeer::open(RdmaGpuBuffer{}, path).error().codeName, "BufferEmpty");
}

TEST_F(BlockPeerTest, DriveInUseIsNotOverwritten) {
  standin.failNamed("open O_DIRECT", EBUSY);
  const auto refused = BlockPeer::open(host, path, {.overwrite = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::Busy);
  EXPECT_TRUE(hintsName(refused.error(), "Unmount"));
}

TEST_F(BlockPeerTest, HoldsTheMemory) {
  auto peer = openPeer(host, true);
  const std::weak_ptr<const void> memory = host.keepAlive(0);
  host.destroy();
  EXPECT_FALSE(memory.expired());
  EXPECT_TRUE(peer.write(0, std::vector<std::byte>(4096)));
  const BlockPeer moved{std::move(peer)};
  EXPECT_STREQ(moved.name(), ("block:" + path).c_str());
  EXPECT_FALSE(moved.pci());
  EXPECT_EQ(moved.size(), held.size());
}

TEST_F(BlockPeerTest, EveryCallOfAProofFailsOnce) {
  for(const bool overwrite : {false, true}) {
    standin.clearLedger();
    everyCallFailsOnce(standin, [&] {
      const LogCapture log;
      Outcome outcome;
      {
        auto peer = BlockPeer::open(host, path, {.overwrite = overwrite});
        auto proven = peer ? verify(host, *peer) : Result<VerifyReport>{peer.error()};
        if(!proven)
          outcome.result = proven.error();
        else if(proven->write != Answer::Yes || (overwrite && proven->read != Answer::Yes))
          outcome.result = proven->failures.front().error;
      }
      outcome.survived = log.errors();
      return outcome;
    });
  }
}

} // namespace
} // namespace rdmagpu::test
