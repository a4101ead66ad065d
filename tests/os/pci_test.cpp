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

TEST(BarBytes, AreTheLengthOfTheResourceFile) {
  const test::TempTree tree;
  const PciAddress device{.bus = 0x3B};
  tree.write("/sys/bus/pci/devices/0000:3b:00.0/resource1", std::string(4096, 'x'));
  EXPECT_EQ(barBytes(device, 1, tree.root()), 4096U);
}

TEST(BarBytes, AreNoneWhereThereIsNoSuchRegisterOrDevice) {
  const test::TempTree tree;
  tree.write("/sys/bus/pci/devices/0000:3b:00.0/resource0", "x");
  EXPECT_EQ(barBytes({.bus = 0x3B}, 1, tree.root()), 0U);
  EXPECT_EQ(barBytes({.bus = 0x3C}, 0, tree.root()), 0U);
}

} // namespace
} // namespace rdmagpu::os
