// The kernel's software NICs write and read slots: rxe0 (RoCE) and siw0 (iWARP) of the emulated machine.
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs.hpp>
#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_loopback.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace rdmagpu {
namespace {

class VerbsProof : public testing::TestWithParam<std::tuple<const char*, HugePages>> {
protected:
  void SetUp() override {
    auto opened = VerbsDevice::open(std::get<0>(GetParam()));
    if(!opened)
      GTEST_SKIP() << "no " << std::get<0>(GetParam()) << ": " << opened.error().message();
    device = *std::move(opened);
    auto made = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                     .slotCount = 4,
                                     .frameBytes = 300'000,
                                     .host = {.hugePages = std::get<1>(GetParam())}});
    ASSERT_TRUE(made) << made.error().message();
    buffer = *std::move(made);
  }

  VerbsDevice device;
  RdmaGpuBuffer buffer;
};
std::string nameOf(const testing::TestParamInfo<VerbsProof::ParamType>& info) {
  return std::string{std::get<0>(info.param)} +
         (std::get<1>(info.param) == HugePages::Off ? "_pages" : "_huge_pages");
}
INSTANTIATE_TEST_SUITE_P(, VerbsProof,
                         testing::Combine(testing::Values("rxe0", "siw0"),
                                          testing::Values(HugePages::Off, HugePages::Require)),
                         nameOf);

TEST_P(VerbsProof, EverySlotIsWrittenAndRead) {
  const auto slots = VerbsRegistration::make(device.domain(), buffer);
  ASSERT_TRUE(slots) << slots.error().message();
  auto peer = VerbsLoopback::make(*slots);
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->agent(), Agent::Software);
  EXPECT_EQ(peer->port().address, std::get<0>(GetParam()) == std::string{"siw0"} ? "::ffff:10.98.0.1" : "");
  const auto report = verify(buffer, *peer);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->write, Answer::Yes);
  EXPECT_EQ(report->read, Answer::Yes);
}

TEST_P(VerbsProof, AKeyThatAllowsNoWritesEndsTheConnectionAndNotTheNext) {
  const auto slots = VerbsRegistration::make(device.domain(), buffer, {.access = Access::RemoteRead});
  ASSERT_TRUE(slots) << slots.error().message();
  auto peer = VerbsLoopback::make(*slots);
  ASSERT_TRUE(peer) << peer.error().message();
  std::byte one{};
  const auto written = peer->write(0, {&one, 1});
  if(!written) { // iWARP says so only later: a write is done when it was sent
    EXPECT_STREQ(written.error().call, "ibv_poll_cq (RDMA WRITE)");
  }
  auto read = peer->read(0, {&one, 1});
  if(!read)
    read = peer->read(0, {&one, 1});
  EXPECT_TRUE(read) << read.error().message();
}

} // namespace
} // namespace rdmagpu
