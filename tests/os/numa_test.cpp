#include <os/mapping.hpp>
#include <os/numa.hpp>
#include <os/populate.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::os {
namespace {

TEST(Numa, NodeOfADeviceIsReadFromTheKernel) {
  const test::TempTree tree;
  const auto device = *PciAddress::parse("65:00.0");
  EXPECT_EQ(nodeOf(device, tree.root()), -1);
  tree.write("/sys/bus/pci/devices/0000:65:00.0/numa_node", "1\n");
  EXPECT_EQ(nodeOf(device, tree.root()), 1);
  tree.write("/sys/bus/pci/devices/0000:65:00.0/numa_node", "-1\n");
  EXPECT_EQ(nodeOf(device, tree.root()), -1);
}

TEST(Numa, BoundPagesAreFoundOnTheirNode) {
  const int here = currentNode();
  if(here < 0)
    GTEST_SKIP() << "the kernel does not tell this thread's node";
  auto memory = Mapping::make(-1, 1U << 20, 65536, Mapping::Pages::Normal);
  ASSERT_TRUE(memory);
  const auto bound = setNode(memory->data(), memory->size(), here, NodePolicy::Bind);
  if(!bound && bound.error().kind == Errc::Permission)
    GTEST_SKIP() << "a sandbox refuses mbind: " << bound.error().message();
  ASSERT_TRUE(bound) << bound.error().message();
  ASSERT_TRUE(populate(memory->data(), memory->size()));
  const auto found = nodeOf(memory->data());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, here);
}

TEST(Numa, ImpossibleNodesAreRefused) {
  auto memory = Mapping::make(-1, 65536, 65536, Mapping::Pages::Normal);
  ASSERT_TRUE(memory);
  for(const int node : {-1, 1024, 100'000}) {
    const auto bound = setNode(memory->data(), memory->size(), node, NodePolicy::Bind);
    ASSERT_FALSE(bound) << node;
    EXPECT_STREQ(bound.error().codeName, "EINVAL");
  }
}

} // namespace
} // namespace rdmagpu::os
