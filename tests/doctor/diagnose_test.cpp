#include "support/temp_tree.hpp"

#include <rdmagpu/doctor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rdmagpu {
namespace {

using testing::ElementsAre;
using testing::StrEq;

TEST(Diagnose, SaysThatThereIsNoGpu) {
  const test::TempTree tree;
  const auto report = diagnose({.root = tree.root()});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_STREQ(report->findings.front().id, "no-gpu");
  EXPECT_EQ(report->findings.front().severity, Severity::Blocker);
  EXPECT_EQ(report->verdict, Verdict::Blocked);
  EXPECT_TRUE(report->pairs.empty());
}

TEST(Diagnose, RefusesADeviceThatIsNotThere) {
  const test::TempTree tree;
  const auto noGpu = diagnose({.root = tree.root(), .gpu = "65:00.0"});
  ASSERT_FALSE(noGpu);
  EXPECT_EQ(noGpu.error().kind, Errc::NotFound);
  EXPECT_STREQ(noGpu.error().codeName, "NoSuchGpu");
  EXPECT_EQ(noGpu.error().hints().size(), 1U);
  const auto noPeer = diagnose({.root = tree.root(), .peer = "mlx5_0"});
  ASSERT_FALSE(noPeer);
  EXPECT_STREQ(noPeer.error().codeName, "NoSuchPeer");
}

TEST(Diagnose, LooksAtThisMachineByDefault) { EXPECT_TRUE(diagnose()); }

TEST(Diagnose, NamesTheDecidingFindingFirst) {
  const test::TempTree tree;
  const std::string gpu = "/sys/bus/pci/devices/0000:01:00.0";
  tree.write(gpu + "/vendor", "0x10de\n");
  tree.write(gpu + "/device", "0x1db5\n");
  tree.write(gpu + "/class", "0x030200\n");
  tree.link(gpu + "/driver", "../../drivers/nouveau");
  const auto report = diagnose({.root = tree.root()});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->pairs.size(), 3U); // by dma-buf, by nvidia_p2p, and through the host
  EXPECT_EQ(report->pairs.front().verdict, Verdict::Blocked);
  EXPECT_THAT(report->pairs.front().because, ElementsAre(StrEq("nouveau"), StrEq("gpu-too-old-for-open")));
  EXPECT_EQ(report->verdict, Verdict::Staged);
}

} // namespace
} // namespace rdmagpu
