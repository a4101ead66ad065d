#include "verbs_fixture.hpp"

#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>
#include <support/temp_tree.hpp>

#include <cerrno>

namespace rdmagpu::nictest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VerbsDevices : public Verbs {
protected:
  static Error refusal(const std::string& name) {
    const auto opened = VerbsDevice::open(name);
    EXPECT_FALSE(opened);
    EXPECT_EQ(liveDevices(), 0U);
    if(opened)
      return {};
    EXPECT_FALSE(opened.error().hints().empty()) << opened.error().message();
    return opened.error();
  }
};

TEST_F(VerbsDevices, SlotsAreProvenThroughTheOneThatIsNamed) {
  const auto device = VerbsDevice::open("nic0");
  ASSERT_TRUE(device) << device.error().message();
  ASSERT_TRUE(device->valid());
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer, {}, device->domain());
  auto peer = VerbsLoopback::make(slots);
  ASSERT_TRUE(peer) << peer.error().message();
  const auto report = verify(buffer, *peer);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->write, Answer::Yes);
  EXPECT_EQ(report->read, Answer::Yes);
}

TEST_F(VerbsDevices, TheirPlaceOnTheBusIsThatOfThePciDeviceBehindThem) {
  const test::TempTree tree;
  Nic nic = mlx5();
  nic.node = tree.root() + "/sys/class/infiniband/nic0";
  tree.write("/sys/devices/pci0000:00/0000:00:01.0/0000:65:00.0/infiniband/nic0/node_type", "1: CA");
  tree.link("/sys/class/infiniband/nic0",
            "../../devices/pci0000:00/0000:00:01.0/0000:65:00.0/infiniband/nic0");
  reset(nic);
  EXPECT_EQ(VerbsDevice::open("nic0")->pci(), PciAddress::parse("0000:65:00.0"));
  nic.node = tree.root() + "/sys/devices"; // as of rxe: virtual
  reset(nic);
  EXPECT_EQ(VerbsDevice::open("nic0")->pci(), std::nullopt);
  EXPECT_EQ(VerbsDevice{}.pci(), std::nullopt);
}

TEST_F(VerbsDevices, IsEmptyAfterAMove) {
  auto device = VerbsDevice::open("nic0");
  ASSERT_TRUE(device);
  VerbsDevice first = *std::move(device);
  const VerbsDevice second = std::move(first);
  EXPECT_TRUE(second.valid());
  EXPECT_FALSE(first.valid()); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.domain(), nullptr);
}

TEST_F(VerbsDevices, NamesAreThoseThatTheSystemHas) {
  ASSERT_TRUE(VerbsDevice::names());
  EXPECT_THAT(*VerbsDevice::names(), ElementsAre("nic0"));
  Nic nic = mlx5();
  nic.there = false;
  reset(nic);
  EXPECT_THAT(*VerbsDevice::names(), IsEmpty());
  failNext("ibv_get_device_list", ENOSYS); // a kernel without RDMA
  const auto refused = VerbsDevice::names();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hints().front(), HasSubstr("modprobe ib_uverbs"));
}

TEST_F(VerbsDevices, OneThatIsNotThereIsRefused) {
  EXPECT_STREQ(refusal("nic1").codeName, "NicNotFound");
  EXPECT_EQ(refusal("").kind, Errc::NotFound);
}

TEST_F(VerbsDevices, EveryCallCanFailAndNothingIsLeft) {
  for(const char* call : {"ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd"}) {
    failNext(call, EACCES);
    EXPECT_STREQ(refusal("nic0").call, call);
  }
}

} // namespace
} // namespace rdmagpu::nictest
