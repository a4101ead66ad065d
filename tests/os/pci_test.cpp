#include <os/pci.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

namespace rdmagpu::os {
namespace {

TEST(Pci, ADeviceThatTheKernelDoesNotListIsAbsent) {
  const test::TempTree tree;
  tree.write("/sys/bus/pci/devices/0000:65:00.0/vendor", "0x10de\n");
  EXPECT_FALSE(isAbsent(*PciAddress::parse("65:00.0"), tree.root()));
  EXPECT_TRUE(isAbsent(*PciAddress::parse("65:00.1"), tree.root()));
  EXPECT_TRUE(isAbsent(*PciAddress::parse("0001:65:00.0"), tree.root()));
}

TEST(Pci, WithoutAListNothingIsAbsent) {
  const test::TempTree tree;
  EXPECT_FALSE(isAbsent(*PciAddress::parse("65:00.0"), tree.root()));
}

} // namespace
} // namespace rdmagpu::os
