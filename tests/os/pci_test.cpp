#include <os/pci.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

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

class SharedPath : public testing::Test {
protected:
  void put(const char* device, const std::string& way) const {
    m_tree.link(std::string{"/sys/bus/pci/devices/"} + device, "../../../devices/" + way + "/" + device);
  }
  std::size_t shared(const char* a, const char* b) const {
    return sharedPath(*PciAddress::parse(a), *PciAddress::parse(b), m_tree.root());
  }

private:
  test::TempTree m_tree;
};

TEST_F(SharedPath, IsTheRootAndEachBridgeThatBothAreBehind) {
  put("0000:03:00.0", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0");
  put("0000:04:00.0", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0");
  put("0000:05:00.0", "pci0000:00/0000:00:02.0");
  put("0000:81:00.0", "pci0000:80/0000:80:01.0");
  EXPECT_EQ(shared("0000:03:00.0", "0000:04:00.0"), 3U);
  EXPECT_EQ(shared("0000:04:00.0", "0000:05:00.0"), 1U);
  EXPECT_EQ(shared("0000:05:00.0", "0000:81:00.0"), 0U);
}

TEST_F(SharedPath, BeginsBehindWhatRootsOfOnePlatformShare) {
  put("0000:01:00.0", "platform/soc/4000.pcie/pci0000:00/0000:00:00.0");
  put("0000:02:00.0", "platform/soc/4000.pcie/pci0000:00/0000:00:01.0");
  put("0001:01:00.0", "platform/soc/5000.pcie/pci0001:00/0001:00:00.0");
  EXPECT_EQ(shared("0000:01:00.0", "0000:02:00.0"), 1U);
  EXPECT_EQ(shared("0000:01:00.0", "0001:01:00.0"), 0U);
}

TEST_F(SharedPath, IsNoneOfADeviceThatTheKernelDoesNotTellOf) {
  put("0000:01:00.0", "pci0000:00/0000:00:01.0");
  EXPECT_EQ(shared("0000:01:00.0", "0000:02:00.0"), 0U);
  EXPECT_EQ(shared("0000:02:00.0", "0000:02:00.0"), 0U);
}

} // namespace
} // namespace rdmagpu::os
