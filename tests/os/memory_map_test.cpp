#include <os/memory_map.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::os {
namespace {

constexpr const char* smaps =
    R"(00400000-00401000 r-xp 00000000 08:01 1234                               /usr/bin/a program
Size:                  4 kB
KernelPageSize:        4 kB
VmFlags: rd ex mr mw me
7f0000000000-7f0000200000 rw-s 00000000 00:0f 77                          /anon_hugepage (deleted)
KernelPageSize:     2048 kB
VmFlags: rd wr sh mr mw me ms de ht sd
7f0000200000-7f0000201000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
VmFlags: rd wr mr mw me lo ac sd
7f0000300000-7f0000301000 rw-s 00000000 00:05 9                           /dev/card
KernelPageSize:        4 kB
VmFlags: rd wr sh mr mw me ms io pf dc
)";

TEST(MemoryMap, ReadsEachKindOfLine) {
  const auto all = parseSmaps(smaps, 0, static_cast<std::uintptr_t>(-1));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].begin, 0x400000U);
  EXPECT_EQ(all[0].end, 0x401000U);
  EXPECT_TRUE(all[0].readable);
  EXPECT_FALSE(all[0].writable);
  EXPECT_FALSE(all[0].shared);
  EXPECT_EQ(all[0].inode, 1234U);
  EXPECT_EQ(all[0].path, "/usr/bin/a program");
  EXPECT_EQ(all[0].pageBytes, 4096U);
  EXPECT_TRUE(all[1].huge);
  EXPECT_TRUE(all[1].shared);
  EXPECT_EQ(all[1].pageBytes, 2U << 20);
  EXPECT_TRUE(all[2].locked);
  EXPECT_TRUE(all[2].path.empty());
  EXPECT_FALSE(all[2].device);
  EXPECT_TRUE(all[3].device);
}

TEST(MemoryMap, KeepsOnlyWhatOverlaps) {
  EXPECT_TRUE(parseSmaps(smaps, 0x401000, 0x402000).empty());
  const auto two = parseSmaps(smaps, 0x7f00001ff000, 0x7f0000200001);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_TRUE(two[0].huge);
  EXPECT_FALSE(two[1].huge);
}

TEST(MemoryMap, NonsenseHasNoEntries) {
  EXPECT_TRUE(parseSmaps("", 0, 100).empty());
  EXPECT_TRUE(parseSmaps("\n\nxyz\n1-2\n1-2 r\nKernelPageSize: 4 kB\n", 0, 100).empty());
}

} // namespace
} // namespace rdmagpu::os
