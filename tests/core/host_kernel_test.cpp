#include <os/numa.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// Host memory and what a kernel must have for it: free huge pages, /dev/udmabuf, several NUMA nodes. Where
/// one is missing its tests are skipped; the machine that tests/guest emulates has all of them.
namespace rdmagpu {
namespace {

constexpr std::size_t hugePage = 2U << 20U;
const std::string pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

RdmaGpuBufferConfig config(HostMemory memory, std::size_t frameBytes = 100'001, std::uint32_t slots = 4) {
  return {.api = RdmaGpuApi::HostFallback, .slotCount = slots, .frameBytes = frameBytes, .host = memory};
}

std::optional<long> number(const std::string& file) {
  std::ifstream in{file};
  long value{};
  return in >> value ? std::optional{value} : std::nullopt;
}

/// The CPU's view of a dma-buf.
class Mapped {
public:
  explicit Mapped(const DmaBuf& dmaBuf)
      : m_bytes{dmaBuf.size()},
        m_data{mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dmaBuf.fd(),
                    static_cast<off_t>(dmaBuf.offset()))} {
    EXPECT_NE(m_data, MAP_FAILED) << std::strerror(errno);
  }
  ~Mapped() { munmap(m_data, m_bytes); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  unsigned char& operator[](std::size_t i) const { return static_cast<unsigned char*>(m_data)[i]; }

private:
  std::size_t m_bytes;
  void* m_data;
};

unsigned char& byteOf(const RdmaGpuBuffer& buffer, std::size_t slot, std::size_t i) {
  return static_cast<unsigned char*>(buffer.slot(slot).gpuVA)[i];
}

class HostHugePages : public testing::Test {
protected:
  void SetUp() override {
    m_free = number(pool).value_or(0);
    if(m_free < 4)
      GTEST_SKIP() << "4 free huge pages are needed, there are " << m_free << ": vm.nr_hugepages";
  }
  long m_free{};
};

constexpr HostMemory huge{.hugePages = HugePages::Require};

TEST_F(HostHugePages, SlotsLieInThePool) {
  {
    const auto buffer = RdmaGpuBuffer::make(config(huge, hugePage, 3));
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().hugePageBytes, 3 * hugePage);
    EXPECT_EQ(buffer->facts().committedBytes, 3 * hugePage);
    EXPECT_EQ(buffer->facts().residentBytes, 3 * hugePage);
    EXPECT_EQ(buffer->facts().pageBytes, hugePage);
    EXPECT_EQ(number(pool), m_free - 3);
    const auto seen = inspect(buffer->slot(1).gpuVA, hugePage);
    ASSERT_TRUE(seen) << seen.error().message();
    EXPECT_EQ(seen->kind, MemoryKind::HugePages);
    EXPECT_EQ(seen->pageBytes, hugePage);
  }
  EXPECT_EQ(number(pool), m_free);
}

TEST_F(HostHugePages, AreSharedWithAnotherMapping) {
  const auto buffer = RdmaGpuBuffer::make(config(huge));
  ASSERT_TRUE(buffer) << buffer.error().message();
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  const auto shared = buffer->share();
  ASSERT_TRUE(shared) << shared.error().message();
  ASSERT_TRUE(shared->send(sockets[0]));
  const auto attached = RdmaGpuBuffer::attach(sockets[1]);
  close(sockets[0]);
  close(sockets[1]);
  ASSERT_TRUE(attached) << attached.error().message();
  EXPECT_EQ(attached->facts().hugePageBytes, buffer->facts().hugePageBytes);
  byteOf(*buffer, 3, 7) = 42;
  EXPECT_EQ(byteOf(*attached, 3, 7), 42);
  EXPECT_EQ(number(pool), m_free - 1) << "of the same page";
}

TEST_F(HostHugePages, MoreThanThePoolIsRefusedWithBothFigures) {
  const auto pages = static_cast<std::uint32_t>(m_free) + 1;
  const auto buffer = RdmaGpuBuffer::make(config(huge, hugePage, pages));
  ASSERT_FALSE(buffer);
  EXPECT_STREQ(buffer.error().codeName, "HugePagesExhausted");
  EXPECT_EQ(buffer.error().bytes, pages * hugePage);
  EXPECT_EQ(buffer.error().available, (pages - 1) * hugePage);
  EXPECT_EQ(number(pool), m_free);
}

TEST_F(HostHugePages, MoreThanThePoolIsHadInNormalPagesWhereThatIsAllowed) {
  const auto pages = static_cast<std::uint32_t>(m_free) + 1;
  const auto buffer = RdmaGpuBuffer::make(config({.hugePages = HugePages::Try}, hugePage, pages));
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(buffer->facts().hugePageBytes, 0U);
  EXPECT_FALSE(buffer->facts().tolerated.empty());
  EXPECT_EQ(number(pool), m_free);
}

class HostUdmabuf : public testing::Test {
protected:
  void SetUp() override {
    if(access("/dev/udmabuf", R_OK | W_OK) != 0)
      GTEST_SKIP() << "/dev/udmabuf: " << std::strerror(errno);
  }
};

TEST_F(HostUdmabuf, RegionIsTheMemoryOfEverySlot) {
  const auto buffer = RdmaGpuBuffer::make(config({}));
  ASSERT_TRUE(buffer);
  const auto region = buffer->exportRegion();
  ASSERT_TRUE(region) << region.error().message();
  EXPECT_EQ(region->size(), buffer->facts().committedBytes);
  const Mapped mapped{*region};
  for(std::size_t i = 0; i < buffer->slotCount(); ++i) {
    byteOf(*buffer, i, 9) = static_cast<unsigned char>(10 + i);
    EXPECT_EQ(mapped[buffer->slotOffset(i) + 9], 10 + i);
    mapped[buffer->slotOffset(i) + 9] = static_cast<unsigned char>(20 + i);
    EXPECT_EQ(byteOf(*buffer, i, 9), 20 + i);
  }
}

TEST_F(HostUdmabuf, SlotIsThatSlotAndNoMore) {
  const auto buffer = RdmaGpuBuffer::make(config({}));
  ASSERT_TRUE(buffer);
  const auto slot = buffer->exportSlot(2);
  ASSERT_TRUE(slot) << slot.error().message();
  EXPECT_EQ(slot->size(), buffer->slot(2).size);
  EXPECT_EQ(lseek(slot->fd(), 0, SEEK_END), static_cast<off_t>(slot->size()));
  const Mapped mapped{*slot};
  mapped[0] = 77;
  EXPECT_EQ(byteOf(*buffer, 2, 0), 77);
}

TEST_F(HostUdmabuf, OutlivesTheBuffer) {
  auto buffer = RdmaGpuBuffer::make(config({}));
  ASSERT_TRUE(buffer);
  byteOf(*buffer, 0, 5) = 55;
  int fd = -1;
  std::size_t bytes{};
  {
    auto slot = buffer->exportSlot(0);
    ASSERT_TRUE(slot) << slot.error().message();
    bytes = slot->size();
    fd = slot->release();
  }
  buffer->destroy();
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(static_cast<unsigned char*>(mapped)[5], 55);
  munmap(mapped, bytes);
}

bool kernelIsAtLeast(int major, int minor) {
  utsname system{};
  int runsMajor{};
  int runsMinor{};
  return uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &runsMajor, &runsMinor) == 2 &&
         std::pair{runsMajor, runsMinor} >= std::pair{major, minor};
}

TEST_F(HostUdmabuf, HugePagesAreExportedWhereTheKernelCan) {
  const auto buffer = RdmaGpuBuffer::make(config(huge, hugePage, 2));
  if(!buffer)
    GTEST_SKIP() << buffer.error().message();
  for(const bool whole : {true, false}) {
    const auto exported = whole ? buffer->exportRegion() : buffer->exportSlot(1);
    if(!kernelIsAtLeast(6, 11)) {
      ASSERT_FALSE(exported);
      EXPECT_STREQ(exported.error().codeName, "EBADFD");
      EXPECT_NE(std::string{exported.error().hints().front()}.find("6.11"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(exported) << exported.error().message();
    const Mapped mapped{*exported};
    mapped[exported->size() - 1] = whole ? 88 : 99;
    EXPECT_EQ(byteOf(*buffer, 1, hugePage - 1), whole ? 88 : 99);
  }
}

TEST_F(HostUdmabuf, RegionBeyondTheLimitIsRefusedAndItsSlotsAreNot) {
  const auto megabytes = number("/sys/module/udmabuf/parameters/size_limit_mb");
  ASSERT_TRUE(megabytes);
  if(*megabytes > 256)
    GTEST_SKIP() << "size_limit_mb is " << *megabytes << ", which takes too much memory to pass";
  const std::size_t limit = static_cast<std::size_t>(*megabytes) << 20U;
  const auto buffer = RdmaGpuBuffer::make(config({.lock = PageLock::Off}, limit / 2 + 65536, 2));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto region = buffer->exportRegion();
  ASSERT_FALSE(region);
  EXPECT_STREQ(region.error().codeName, "UdmabufLimit");
  EXPECT_EQ(region.error().available, limit);
  EXPECT_TRUE(buffer->exportSlot(0));
}

TEST_F(HostUdmabuf, LargeRegionIsExportedOnceTheLimitIsRaised) {
  const std::size_t bytes = 96U << 20U;
  const auto megabytes = number("/sys/module/udmabuf/parameters/size_limit_mb");
  if(!megabytes || *megabytes < 96)
    GTEST_SKIP() << "size_limit_mb is " << megabytes.value_or(-1) << ", 96 are needed";
  const auto buffer = RdmaGpuBuffer::make(config({.lock = PageLock::Off}, bytes, 1));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto region = buffer->exportRegion();
  ASSERT_TRUE(region) << region.error().message();
  const Mapped mapped{*region};
  mapped[bytes - 1] = 66;
  EXPECT_EQ(byteOf(*buffer, 0, bytes - 1), 66);
}

TEST_F(HostUdmabuf, ProcessThatMayNotOpenItIsToldWhoMay) {
  const auto buffer = RdmaGpuBuffer::make(config({}));
  ASSERT_TRUE(buffer);
  enum : int { AsItShould = 0, Wrong = 1, NoChance = 2 };
  const pid_t child = fork();
  if(child == 0) {
    if(geteuid() == 0 && setuid(65534) != 0)
      _exit(NoChance);
    if(access("/dev/udmabuf", R_OK | W_OK) == 0)
      _exit(NoChance);
    const auto refused = buffer->exportSlot(0);
    const bool told = !refused && refused.error().kind == Errc::Permission &&
                      refused.error().codeName == std::string{"EACCES"} && !refused.error().hints().empty();
    _exit(told ? AsItShould : Wrong);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if(WEXITSTATUS(status) == NoChance)
    GTEST_SKIP() << "everybody may open /dev/udmabuf here";
  EXPECT_EQ(WEXITSTATUS(status), AsItShould);
}

TEST(HostWithoutUdmabuf, ExportIsUnsupportedAndSaysWhatToLoad) {
  if(access("/dev/udmabuf", F_OK) == 0)
    GTEST_SKIP() << "there is a /dev/udmabuf";
  const auto buffer = RdmaGpuBuffer::make(config({}));
  ASSERT_TRUE(buffer);
  const auto refused = buffer->exportRegion();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::Unsupported);
  EXPECT_STREQ(refused.error().codeName, "ENOENT");
  EXPECT_NE(std::string{refused.error().hints().front()}.find("modprobe udmabuf"), std::string::npos);
}

std::vector<int> nodes() {
  std::vector<int> found;
  for(int node = 0; node < 64; ++node)
    if(std::filesystem::exists("/sys/devices/system/node/node" + std::to_string(node)))
      found.push_back(node);
  return found;
}

class HostNodes : public testing::Test {
protected:
  void SetUp() override {
    if(nodes().size() < 2)
      GTEST_SKIP() << "this machine has one NUMA node";
  }
  static void expectEverySlotOn(int node, const RdmaGpuBuffer& buffer) {
    for(std::size_t i = 0; i < buffer.slotCount(); ++i)
      for(std::size_t offset = 0; offset < buffer.slot(i).size; offset += buffer.facts().pageBytes) {
        const auto there = os::nodeOf(static_cast<std::byte*>(buffer.slot(i).gpuVA) + offset);
        ASSERT_TRUE(there) << there.error().message();
        ASSERT_EQ(*there, node) << "slot " << i << " at " << offset;
      }
  }
};

TEST_F(HostNodes, SlotsLieOnTheOneThatIsAskedFor) {
  for(const int node : nodes()) {
    const auto buffer = RdmaGpuBuffer::make(config({.numaNode = node}, 1U << 20U));
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().numaNode, node);
    expectEverySlotOn(node, *buffer);
  }
}

TEST_F(HostNodes, SlotsLieOnThatOfThePeer) {
  std::error_code ignored;
  const int here = os::currentNode();
  for(const auto& entry : std::filesystem::directory_iterator{"/sys/bus/pci/devices", ignored}) {
    const auto peer = PciAddress::parse(entry.path().filename().string());
    const int node = peer ? os::nodeOf(*peer) : -1;
    if(node < 0 || node == here)
      continue;
    auto request = config({}, 1U << 20U);
    request.peer = *peer;
    const auto buffer = RdmaGpuBuffer::make(request);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().numaNode, node);
    expectEverySlotOn(node, *buffer);
    return;
  }
  GTEST_SKIP() << "no PCI device is attached to another node than " << here;
}

TEST_F(HostNodes, HugePagesLieOnTheOneThatIsAskedFor) {
  for(const int node : nodes()) {
    const auto there = number("/sys/devices/system/node/node" + std::to_string(node) +
                              "/hugepages/hugepages-2048kB/free_hugepages");
    if(there.value_or(0) < 2)
      GTEST_SKIP() << "2 free huge pages are needed on node " << node;
    const auto buffer =
        RdmaGpuBuffer::make(config({.hugePages = HugePages::Require, .numaNode = node}, hugePage, 2));
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(buffer->facts().numaNode, node);
    expectEverySlotOn(node, *buffer);
  }
}

} // namespace
} // namespace rdmagpu
