#include "verbs_fixture.hpp"

#include <rdmagpu/verbs_loopback.hpp>

#include <infiniband/verbs.h>

#include <cerrno>

namespace rdmagpu::nictest {
namespace {

using testing::HasSubstr;

class VerbsLoopbacks : public Verbs {
protected:
  void TearDown() override {
    EXPECT_EQ(liveQueues(), 0U);
    Verbs::TearDown();
  }

  static VerbsLoopback loopbackOn(const VerbsRegistration& slots) {
    auto made = VerbsLoopback::make(slots);
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }

  static Error refusal(const VerbsRegistration& slots, const VerbsLoopbackOptions& options = {}) {
    const auto made = VerbsLoopback::make(slots, options);
    EXPECT_FALSE(made);
    EXPECT_EQ(liveQueues(), 0U);
    if(made)
      return {};
    EXPECT_FALSE(made.error().hints().empty()) << made.error().message();
    return made.error();
  }
};

TEST_F(VerbsLoopbacks, VerifyProvesBothDirections) {
  for(const bool ethernet : {true, false}) {
    Nic nic = mlx5();
    nic.ethernet = ethernet;
    reset(nic);
    const RdmaGpuBuffer buffer = makeBuffer();
    const VerbsRegistration slots = registerOn(buffer);
    VerbsLoopback peer = loopbackOn(slots);
    const auto report = verify(buffer, peer);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_STREQ(report->peer, "verbs:nic0");
    EXPECT_EQ(report->write, Answer::Yes);
    EXPECT_EQ(report->read, Answer::Yes);
    EXPECT_EQ(report->proof.by, Agent::Software); // no PCI device is behind it
    EXPECT_EQ(calls("ibv_post_send") % 4, 0);
    EXPECT_GE(calls("ibv_post_send"), 4 * 2 * 2); // in parts, as the port's longest message wants
  }
}

TEST_F(VerbsLoopbacks, APathThatPassesWritesOnlyIsFoundOut) {
  Nic nic = mlx5();
  nic.readsArrive = false;
  reset(nic);
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  VerbsLoopback peer = loopbackOn(slots);
  const auto report = verify(buffer, peer);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->write, Answer::Yes); // through a new pair after each failure
  EXPECT_EQ(report->read, Answer::No);
  EXPECT_STREQ(report->readError.call, "ibv_poll_cq (RDMA READ)");
  EXPECT_EQ(report->readError.message(), "ibv_poll_cq (RDMA READ) failed: IBV_WC_REM_OP_ERR (11); slot 0");
  EXPECT_THAT(report->readError.hints().front(), HasSubstr("writes pass and reads do not"));
}

TEST_F(VerbsLoopbacks, ThePortIsTold) {
  const RdmaGpuBuffer buffer = makeBuffer();
  {
    const VerbsRegistration slots = registerOn(buffer);
    const VerbsLoopback peer = loopbackOn(slots);
    EXPECT_EQ(peer.port().device, "nic0");
    EXPECT_EQ(peer.port().port, 1);
    EXPECT_EQ(peer.port().gidIndex, 1U); // the first of RoCE v2
    EXPECT_EQ(peer.port().gid, "::1");
  }
  Nic nic = mlx5();
  nic.ethernet = false;
  reset(nic);
  const VerbsRegistration slots = registerOn(buffer);
  const VerbsLoopback peer = loopbackOn(slots);
  EXPECT_EQ(peer.port().gidIndex, std::nullopt);
  EXPECT_EQ(peer.port().gid, "");
}

TEST_F(VerbsLoopbacks, WhatTheRegistrationForbidsIsTold) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer, {.access = Access::LocalWrite | Access::RemoteWrite});
  VerbsLoopback peer = loopbackOn(slots);
  std::byte one{};
  EXPECT_TRUE(peer.write(0, {&one, 1}));
  const auto read = peer.read(0, {&one, 1});
  ASSERT_FALSE(read);
  EXPECT_STREQ(read.error().codeName, "IBV_WC_REM_ACCESS_ERR");
  EXPECT_TRUE(peer.write(0, {&one, 1}));
}

TEST_F(VerbsLoopbacks, SlotThatIsNotRegisteredIsRefused) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer, {.slot = 1});
  VerbsLoopback peer = loopbackOn(slots);
  const std::byte one{};
  EXPECT_TRUE(peer.write(1, {&one, 1}));
  EXPECT_STREQ(peer.write(0, {&one, 1}).error().codeName, "SlotOutOfRange");
}

TEST_F(VerbsLoopbacks, EveryCallCanFailAndNothingIsLeft) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  for(const char* call :
      {"ibv_query_port", "ibv_create_cq", "ibv_create_qp", "ibv_modify_qp", "ibv_query_device"}) {
    failNext(call, EIO);
    EXPECT_STREQ(refusal(slots).call, call);
  }
  failNext("ibv_reg_mr_iova2", ENODEV);
  EXPECT_STREQ(refusal(slots).call, "ibv_reg_mr");
  VerbsLoopback peer = loopbackOn(slots);
  const std::byte one{};
  failNext("ibv_post_send", ENOMEM);
  EXPECT_STREQ(peer.write(0, {&one, 1}).error().call, "ibv_post_send");
  failNext("ibv_poll_cq", EIO);
  EXPECT_STREQ(peer.write(0, {&one, 1}).error().call, "ibv_poll_cq");
}

TEST_F(VerbsLoopbacks, WhatCannotBeConnectedSaysWhy) {
  const RdmaGpuBuffer buffer = makeBuffer();
  EXPECT_STREQ(refusal(VerbsRegistration{}).codeName, "BufferEmpty");
  Nic nic = rxe();
  nic.portUp = false;
  reset(nic);
  EXPECT_EQ(refusal(registerOn(buffer)).code, ENETDOWN);
  EXPECT_EQ(refusal(registerOn(buffer), {.port = 2}).code, EINVAL);
  reset();
  EXPECT_EQ(refusal(registerOn(buffer), {.gidIndex = 5}).code, ENODATA);
}

} // namespace
} // namespace rdmagpu::nictest
