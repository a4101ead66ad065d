#include <contract/backend_contract.hpp>
#include <contract/bytes_contract.hpp>
#include <contract/copy_contract.hpp>
#include <rdmagpu/block_peer.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

/// On the machine's own devices with peer-to-peer memory; where there is none there is nothing to run.
namespace rdmagpu::test {
namespace {

bool isThere() {
  for(const BackendInfo& backend : backends()) {
    if(backend.api == RdmaGpuApi::PciP2p)
      return backend.available;
  }
  return false;
}

RdmaGpuBufferConfig p2pConfig() { return {.api = RdmaGpuApi::PciP2p, .slotCount = 4, .frameBytes = 100'001}; }

template <class Value>
std::vector<Value> whereThereIsOne(Value value) {
  return isThere() ? std::vector<Value>{value} : std::vector<Value>{};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackendContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CopyContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BytesContract);
INSTANTIATE_TEST_SUITE_P(PciP2p, BackendContract,
                         testing::ValuesIn(whereThereIsOne(BackendUnderTest{p2pConfig(), false, false})));
INSTANTIATE_TEST_SUITE_P(PciP2p, CopyContract, testing::ValuesIn(whereThereIsOne(p2pConfig())));
INSTANTIATE_TEST_SUITE_P(PciP2p, BytesContract, testing::ValuesIn(whereThereIsOne(p2pConfig())));

class PciP2pDevice : public testing::Test {
protected:
  void SetUp() override {
    if(!isThere())
      GTEST_SKIP() << "no device here has peer-to-peer memory";
  }
  static std::uint64_t freeBytes() { return RdmaGpuBuffer::make(p2pConfig())->facts().p2pmemFreeBytes; }
  static RdmaGpuBuffer make() { return *RdmaGpuBuffer::make(p2pConfig()); }
};

TEST_F(PciP2pDevice, MemoryIsTakenAndGivenBack) {
  const auto before = freeBytes();
  {
    const auto buffer = make();
    EXPECT_EQ(freeBytes(), before - buffer.facts().committedBytes);
  }
  EXPECT_EQ(freeBytes(), before);
}

TEST_F(PciP2pDevice, TwoBuffersShareNoByte) {
  const auto first = make();
  const auto second = make();
  ASSERT_TRUE(first.poison(3, 1));
  ASSERT_TRUE(second.poison(3, 2));
  EXPECT_NE(*first.checksum(3, first.slot(3).size), *second.checksum(3, second.slot(3).size));
  ASSERT_TRUE(second.poison(3, 1));
  EXPECT_EQ(*first.checksum(3, first.slot(3).size), *second.checksum(3, second.slot(3).size));
}

TEST_F(PciP2pDevice, AForkedChildFreesNothingOfItsParents) {
  const auto before = freeBytes();
  auto buffer = make();
  ASSERT_TRUE(buffer.poison(1, 7));
  const auto sum = *buffer.checksum(1, buffer.slot(1).size);
  const pid_t child = fork();
  if(child == 0) {
    buffer.destroy();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*buffer.checksum(1, buffer.slot(1).size), sum);
  EXPECT_EQ(freeBytes(), before - buffer.facts().committedBytes);
  buffer.destroy();
  EXPECT_EQ(freeBytes(), before);
}

TEST_F(PciP2pDevice, NoDescriptorStaysOpen) {
  const auto buffer = make();
  for(const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code gone; // the iterator's own
    EXPECT_EQ(std::filesystem::read_symlink(entry.path(), gone).native().find("p2pmem"), std::string::npos);
  }
}

TEST_F(PciP2pDevice, AllOfItCanBeHadInOnePiece) {
  auto config = p2pConfig();
  config.frameBytes = 64 * 1024;
  config.slotCount = *RdmaGpuBuffer::maxSlots(config);
  EXPECT_TRUE(RdmaGpuBuffer::make(config));
  ++config.slotCount;
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "P2pmemExhausted");
  config.slotCount = 1U << 16U;
  config.ignoreBudget = true; // the kernel's own answer
  EXPECT_STREQ(RdmaGpuBuffer::make(config).error().codeName, "P2pmemExhausted");
}

/// With RDMAGPU_TEST_DRIVE, a drive that may be overwritten.
class DriveInUse : public testing::Test {
protected:
  void SetUp() override {
    if(!drive)
      GTEST_SKIP() << "RDMAGPU_TEST_DRIVE names no drive that may be overwritten";
  }
  const char* drive = std::getenv("RDMAGPU_TEST_DRIVE");
  const RdmaGpuBuffer buffer =
      *RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = 4096});
};

TEST_F(DriveInUse, IsReadAndNotOverwritten) {
  const int other = open(drive, O_RDWR | O_EXCL | O_CLOEXEC); // as a mount would
  ASSERT_GE(other, 0);
  const auto refused = BlockPeer::open(buffer, drive, {.overwrite = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EBUSY);
  EXPECT_TRUE(BlockPeer::open(buffer, drive));
  close(other);
  EXPECT_TRUE(BlockPeer::open(buffer, drive, {.overwrite = true}));
}

TEST_F(DriveInUse, ItsBlocksNeedNotBePages) {
  auto peer = *BlockPeer::open(buffer, drive, {.overwrite = true});
  EXPECT_TRUE(peer.write(0, std::vector<std::byte>(512)));
  EXPECT_STREQ(peer.write(0, std::vector<std::byte>(100)).error().codeName, "BlockPartial");
}

} // namespace
} // namespace rdmagpu::test
