#include <rdmagpu/inspect.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace rdmagpu {
namespace {

/// Raw pages, unmapped at the end of the test.
class Pages {
public:
  Pages(std::size_t bytes, int protection, int flags, int fd = -1)
      : m_bytes(bytes), m_data(mmap(nullptr, bytes, protection, flags, fd, 0)) {
    EXPECT_NE(m_data, MAP_FAILED);
  }
  ~Pages() { munmap(m_data, m_bytes); }
  Pages(Pages&&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(m_data); }

private:
  std::size_t m_bytes;
  void* m_data;
};

TEST(Inspect, SlotIsAlignedSharedAndUsable) {
  const auto buffer =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback, .slotCount = 2, .frameBytes = 100});
  ASSERT_TRUE(buffer);
  const auto facts = inspect(buffer->slot(1).gpuVA, buffer->slot(1).size);
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_EQ(facts->kind, MemoryKind::Memfd);
  EXPECT_TRUE(facts->aligned64K);
  EXPECT_FALSE(facts->copiedOnFork);
  EXPECT_EQ(facts->residentBytes, 65536U);
  if(!test::sanitized) { // else mlock does nothing and says that it did
    EXPECT_EQ(facts->lockedBytes, buffer->facts().lockedBytes / 2);
  }
  EXPECT_EQ(facts->peerUsable, Answer::Yes);
  EXPECT_NE(facts->mapping.find("memfd:rdmagpu"), std::string::npos);
}

TEST(Inspect, HeapMemoryIsCopiedOnFork) {
  std::vector<char> heap(1 << 20);
  heap[0] = 1;
  const auto facts = inspect(heap.data() + 1, heap.size() - 1);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kind, MemoryKind::Private);
  EXPECT_TRUE(facts->copiedOnFork);
  EXPECT_FALSE(facts->aligned64K);
  EXPECT_EQ(facts->peerUsable, Answer::Yes);
  EXPECT_NE(facts->why.find("fork"), std::string::npos);
}

TEST(Inspect, UntouchedPagesAreNotResident) {
  const Pages pages{1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
  pages.data()[0] = std::byte{1};
  const auto facts = inspect(pages.data(), 1 << 20);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kind, MemoryKind::SharedAnonymous);
  EXPECT_EQ(facts->residentBytes, static_cast<std::size_t>(getpagesize()));
  EXPECT_EQ(facts->lockedBytes, 0U);
}

TEST(Inspect, FilesOnDiskAreNotForPeers) {
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const Pages shared{4096, PROT_READ, MAP_SHARED, fd};
  const Pages priv{4096, PROT_READ, MAP_PRIVATE, fd};
  close(fd);
  const auto facts = inspect(shared.data(), 4096);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kind, MemoryKind::SharedFile);
  EXPECT_EQ(facts->peerUsable, Answer::No);
  EXPECT_FALSE(facts->writable);
  const auto copied = inspect(priv.data(), 4096);
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->kind, MemoryKind::PrivateFile);
  EXPECT_EQ(copied->peerUsable, Answer::No);
}

TEST(Inspect, ReadOnlyAndInaccessiblePagesAreTold) {
  const Pages readOnly{65536, PROT_READ, MAP_SHARED | MAP_ANONYMOUS};
  const auto facts = inspect(readOnly.data(), 65536);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->readable);
  EXPECT_FALSE(facts->writable);
  EXPECT_EQ(facts->peerUsable, Answer::Yes);
  EXPECT_NE(facts->why.find("playout"), std::string::npos);
  const Pages nothing{65536, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS};
  EXPECT_EQ(inspect(nothing.data(), 65536)->peerUsable, Answer::No);
}

TEST(Inspect, RangeOverSeveralKindsIsMixed) {
  const Pages pages{131072, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS};
  ASSERT_NE(mmap(pages.data() + 65536, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0),
            MAP_FAILED);
  const auto facts = inspect(pages.data(), 131072);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kind, MemoryKind::Mixed);
  EXPECT_EQ(facts->peerUsable, Answer::Unknown);
  EXPECT_EQ(inspect(pages.data() + 65536, 65536)->kind, MemoryKind::SharedAnonymous);
}

TEST(Inspect, LockedPartIsCounted) {
  if(test::sanitized)
    GTEST_SKIP() << "under a sanitizer mlock does nothing and says that it did";
  const Pages pages{131072, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS};
  if(mlock(pages.data(), 65536) != 0)
    GTEST_SKIP() << "mlock of 64 KiB is refused here";
  const auto facts = inspect(pages.data(), 131072);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->lockedBytes, 65536U);
}

TEST(Inspect, UnmappedRangesAreRefused) {
  const int local{};
  EXPECT_STREQ(inspect(nullptr, 10).error().codeName, "NotMapped");
  EXPECT_STREQ(inspect(&local, 0).error().codeName, "NotMapped");
  EXPECT_STREQ(inspect(&local, static_cast<std::size_t>(-1)).error().codeName, "NotMapped");
  auto* hole = mmap(nullptr, 131072, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(munmap(static_cast<std::byte*>(hole) + 65536, 65536), 0);
  const auto partly = inspect(hole, 131072);
  munmap(hole, 65536);
  ASSERT_FALSE(partly);
  EXPECT_STREQ(partly.error().codeName, "NotMapped");
  EXPECT_EQ(partly.error().bytes, 131072U);
}

} // namespace
} // namespace rdmagpu
