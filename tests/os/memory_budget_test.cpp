#include <os/memory_budget.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::os {
namespace {

constexpr std::uint64_t MiB = 1U << 20;

class MemoryBudget : public testing::Test {
protected:
  void meminfo(std::uint64_t megabytes) {
    tree.write("/proc/meminfo", "MemTotal: 99999999 kB\nMemFree: 5 kB\nMemAvailable: " +
                                    std::to_string(megabytes * 1024) + " kB\n");
  }
  test::TempTree tree;
};

TEST_F(MemoryBudget, IsWhatTheMachineHasAvailable) {
  meminfo(1000);
  EXPECT_EQ(memoryBudget(tree.root()), 1000 * MiB);
}

TEST_F(MemoryBudget, IsUnknownWhereNothingTells) { EXPECT_EQ(memoryBudget(tree.root()), std::nullopt); }

TEST_F(MemoryBudget, IsBoundedByTheGroup) {
  meminfo(1000);
  tree.write("/proc/self/cgroup", "0::/job\n");
  tree.write("/sys/fs/cgroup/job/memory.max", std::to_string(300 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/job/memory.current", std::to_string(100 * MiB) + "\n");
  EXPECT_EQ(memoryBudget(tree.root()), 200 * MiB);
}

TEST_F(MemoryBudget, CacheThatCanBeGivenUpCountsAsFree) {
  meminfo(1000);
  tree.write("/proc/self/cgroup", "0::/job\n");
  tree.write("/sys/fs/cgroup/job/memory.max", std::to_string(300 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/job/memory.current", std::to_string(250 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file " + std::to_string(50 * MiB) + "\n");
  EXPECT_EQ(memoryBudget(tree.root()), 100 * MiB);
}

TEST_F(MemoryBudget, IsBoundedByEveryGroupAbove) {
  meminfo(1000);
  tree.write("/proc/self/cgroup", "0::/slice/job\n");
  tree.write("/sys/fs/cgroup/slice/job/memory.max", "max\n");
  tree.write("/sys/fs/cgroup/slice/job/memory.current", "5\n");
  tree.write("/sys/fs/cgroup/slice/memory.max", std::to_string(64 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/slice/memory.current", "0\n");
  EXPECT_EQ(memoryBudget(tree.root()), 64 * MiB);
}

TEST_F(MemoryBudget, ContainerSeesItsOwnGroupAsTheRoot) {
  meminfo(1000);
  tree.write("/proc/self/cgroup", "0::/\n");
  tree.write("/sys/fs/cgroup/memory.max", std::to_string(32 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/memory.current", std::to_string(MiB) + "\n");
  EXPECT_EQ(memoryBudget(tree.root()), 31 * MiB);
}

TEST_F(MemoryBudget, FirstGenerationOfGroupsCountsToo) {
  meminfo(1000);
  tree.write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n1:cpu:/\n0::/\n");
  tree.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(500 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(400 * MiB) + "\n");
  tree.write("/sys/fs/cgroup/memory/job/memory.stat",
             "total_inactive_file " + std::to_string(10 * MiB) + "\n");
  EXPECT_EQ(memoryBudget(tree.root()), 110 * MiB);
}

TEST_F(MemoryBudget, GroupBeyondItsLimitLeavesNothing) {
  meminfo(1000);
  tree.write("/proc/self/cgroup", "0::/job\n");
  tree.write("/sys/fs/cgroup/job/memory.max", "1000\n");
  tree.write("/sys/fs/cgroup/job/memory.current", "5000\n");
  EXPECT_EQ(memoryBudget(tree.root()), 0U);
}

TEST_F(MemoryBudget, HugePagesHaveAPoolOfTheirOwn) {
  EXPECT_EQ(hugePageBudget(tree.root()), std::nullopt);
  tree.write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "7\n");
  EXPECT_EQ(hugePageBudget(tree.root()), 14 * MiB);
}

TEST_F(MemoryBudget, ThisMachineTells) {
  const auto budget = memoryBudget();
  ASSERT_TRUE(budget);
  EXPECT_GT(*budget, MiB);
}

} // namespace
} // namespace rdmagpu::os
