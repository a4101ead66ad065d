#include <os/block.hpp>
#include <support/temp_tree.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace rdmagpu::os {
namespace {

class PciOfBlock : public testing::Test {
protected:
  void put(const std::string& numbers, const std::string& way) const {
    std::filesystem::create_directories(m_tree.root() + "/sys/devices/" + way);
    m_tree.link("/sys/dev/block/" + numbers, "../../devices/" + way);
  }
  std::string of(unsigned major, unsigned minor) const {
    const auto pci = pciOfBlock(major, minor, m_tree.root());
    return pci ? pci->text() : "none";
  }
  test::TempTree m_tree;
};

TEST_F(PciOfBlock, IsTheLastDeviceOnTheWay) {
  put("259:0", "pci0000:00/0000:00:01.0/0000:03:00.0/nvme/nvme0/nvme0n1");
  put("259:1", "pci0000:00/0000:00:01.0/0000:03:00.0/nvme/nvme0/nvme0n1/nvme0n1p1");
  put("254:0", "pci0000:00/0000:00:04.0/virtio2/block/vda");
  EXPECT_EQ(of(259, 0), "0000:03:00.0");
  EXPECT_EQ(of(259, 1), "0000:03:00.0");
  EXPECT_EQ(of(254, 0), "0000:00:04.0");
}

TEST_F(PciOfBlock, IsTheControllersOfADriveThatMayHaveSeveral) {
  put("259:0", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
  put("259:1", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p1");
  std::filesystem::create_directories(m_tree.root() + "/sys/devices/pci0000:00/0000:03:00.0/nvme/nvme0");
  m_tree.link("/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0",
              "../../../pci0000:00/0000:03:00.0/nvme/nvme0");
  EXPECT_EQ(of(259, 0), "0000:03:00.0");
  EXPECT_EQ(of(259, 1), "0000:03:00.0");
}

TEST_F(PciOfBlock, IsNoneOfWhatIsMadeOfMemoryOrOfOthers) {
  put("7:0", "virtual/block/loop0");
  put("253:0", "virtual/block/dm-0");
  EXPECT_EQ(of(7, 0), "none");
  EXPECT_EQ(of(253, 0), "none");
  EXPECT_EQ(of(1, 1), "none");
}

} // namespace
} // namespace rdmagpu::os
