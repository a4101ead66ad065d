#include "support/temp_tree.hpp"

#include <doctor/pci_tree.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rdmagpu::doctor {
namespace {

PciDevice at(std::vector<std::string> path, std::uint8_t bus = 1) {
  return {.address = {.bus = bus}, .path = std::move(path)};
}

class PciTreeTest : public testing::Test {
protected:
  test::TempTree m_files;
  Root m_root{m_files.root()};

  std::string folder(const std::string& name) { return "/sys/bus/pci/devices/" + name; }
};

TEST_F(PciTreeTest, MeasuresDistances) {
  const PciTree tree(m_root);
  const PciDevice gpu = at({"pci0000:00", "r1", "up", "d1", "gpu"});
  EXPECT_EQ(distance(tree, gpu, at({"pci0000:00", "r1", "up", "d2", "nic"})), Distance::SameSwitch);
  EXPECT_EQ(distance(tree, gpu, at({"pci0000:00", "r1", "nic"})), Distance::SameRootPort);
  EXPECT_EQ(distance(tree, gpu, at({"pci0000:00", "r2", "nic"})), Distance::SameHostBridge);
  EXPECT_EQ(distance(tree, gpu, at({"pci0000:80", "r2", "nic"})), Distance::OtherHostBridge);
  EXPECT_EQ(distance(tree, gpu, at({})), Distance::Unknown);
}

TEST_F(PciTreeTest, ABridgeOfAnotherDomainBeginsAnew) {
  const PciTree tree(m_root);
  EXPECT_EQ(distance(tree, at({"pci0000:00", "vmd", "pci10000:00", "r1", "a"}),
                     at({"pci0000:00", "vmd", "pci10000:00", "r2", "b"})),
            Distance::SameHostBridge);
}

TEST_F(PciTreeTest, NodesTellSocketsApart) {
  m_files.write(folder("0000:01:00.0") + "/numa_node", "0\n");
  m_files.write(folder("0000:02:00.0") + "/numa_node", "1\n");
  const PciTree tree(m_root);
  EXPECT_EQ(distance(tree, at({"pci0000:00", "a"}, 1), at({"pci0000:80", "b"}, 2)), Distance::AcrossSockets);
}

TEST_F(PciTreeTest, ReadsBars) {
  m_files.write(
      folder("0000:01:00.0") + "/resource",
      "0x00000000f0000000 0x00000000f0ffffff 0x40200\n0x0000010000000000 0x0000013fffffffff 0x14220c\n"
      "0x0 0x0 0x0\nrubbish\n");
  const PciTree tree(m_root);
  const PciAddress gpu{.bus = 1};
  EXPECT_EQ(tree.bar(gpu, 0).bytes, std::uint64_t{16} << 20);
  EXPECT_EQ(tree.bar(gpu, 1).bytes, std::uint64_t{256} << 30);
  for(const std::size_t none : {2U, 3U, 4U, 1000U})
    EXPECT_EQ(tree.bar(gpu, none).bytes, 0U);
}

TEST_F(PciTreeTest, WindowOnMemoryIsTheLargestBarWhicheverItIs) {
  const PciAddress gpu{.bus = 1};
  const PciTree tree(m_root);
  m_files.write(
      folder("0000:01:00.0") + "/resource",
      "0x0000000004000000 0x0000000007ffffff 0x14220c\n0x0 0x0 0x0\n"
      "0x0000010000000000 0x0000013fffffffff 0x14220c\n0x0 0x0 0x0\n0x0 0x1ffffff 0x14220c\n0x0 0x0 0x0\n"
      "0x0000020000000000 0x00000fffffffffff 0x46200\n");
  EXPECT_EQ(tree.largestBar(gpu).index, 2U);
  EXPECT_EQ(tree.largestBar(gpu).bytes, std::uint64_t{256} << 30);
  EXPECT_TRUE(tree.largestBar(gpu).isWindow());
  m_files.write(folder("0000:01:00.0") + "/resource", "0x0000000004000000 0x0000000007ffffff 0x14220c\n");
  EXPECT_FALSE(tree.largestBar(gpu).isWindow()) << "the registers' own";
}

TEST_F(PciTreeTest, FindsAcsBehindOtherCapabilities) {
  std::string config(4096, '\0');
  config.replace(0x100, 4, std::string{"\x01\x00\x81\x14", 4});
  config.replace(0x148, 8, std::string{"\x0d\x00\x01\x00\x1f\x00\x04\x00", 8});
  m_files.write(folder("on") + "/config", config);
  config[0x14e] = '\x11';
  m_files.write(folder("off") + "/config", config);
  m_files.write(folder("short") + "/config", config.substr(0, 64));
  config.replace(0x100, 4, std::string{"\x01\x00\x01\x10", 4}); // leads back to itself
  m_files.write(folder("loop") + "/config", config);
  const PciTree tree(m_root);
  EXPECT_EQ(tree.acsRedirect("on"), AcsRedirect::On);
  EXPECT_EQ(tree.acsRedirect("off"), AcsRedirect::Off);
  EXPECT_EQ(tree.acsRedirect("short"), AcsRedirect::Unreadable);
  EXPECT_EQ(tree.acsRedirect("none"), AcsRedirect::Unreadable);
  EXPECT_EQ(tree.acsRedirect("loop"), AcsRedirect::Off);
}

} // namespace
} // namespace rdmagpu::doctor
