#include "verbs_fixture.hpp"

#include <rdmagpu/verbs_loopback.hpp>
#include <rdmagpu/verbs_remote.hpp>

#include <cerrno>

namespace rdmagpu::nictest {
namespace {

/// A NIC that is connected by librdmacm, of which there is a stand-in.
class VerbsIwarp : public Verbs {
protected:
  void SetUp() override {
    Nic nic = rxe();
    nic.iWarp = true;
    reset(nic);
  }
  void TearDown() override {
    EXPECT_EQ(liveQueues(), 0U);
    Verbs::TearDown();
  }
  static Error refusal() {
    const RdmaGpuBuffer buffer = makeBuffer();
    const VerbsRegistration slots = registerOn(buffer);
    const auto made = VerbsLoopback::make(slots);
    EXPECT_FALSE(made);
    if(made)
      return {};
    EXPECT_FALSE(made.error().hints().empty()) << made.error().message();
    return made.error();
  }
};

TEST_F(VerbsIwarp, BothDirectionsAreProven) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  auto peer = VerbsLoopback::make(slots);
  ASSERT_TRUE(peer) << peer.error().message();
  const auto report = verify(buffer, *peer);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->write, Answer::Yes);
  EXPECT_EQ(report->read, Answer::Yes);
  EXPECT_FALSE(peer->port().address.empty());
  EXPECT_EQ(peer->port().gidIndex, std::nullopt);
  EXPECT_EQ(peer->port().gid, "");
}

// There what is read is written by the other end.
TEST_F(VerbsIwarp, ItsOwnMemoryMayBeWrittenByTheOtherEnd) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  const auto peer = VerbsLoopback::make(slots);
  ASSERT_TRUE(peer);
  EXPECT_NE(live().back().access & static_cast<unsigned>(Access::RemoteWrite), 0U);
}

TEST_F(VerbsIwarp, ATransferThatFailsIsFollowedByAnotherConnection) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  auto peer = VerbsLoopback::make(slots);
  ASSERT_TRUE(peer);
  const std::byte one{};
  failNext("ibv_post_send", ENOMEM);
  EXPECT_FALSE(peer->write(0, {&one, 1}));
  EXPECT_TRUE(peer->write(0, {&one, 1}));
}

TEST_F(VerbsIwarp, EachCallThatFailsIsTold) {
  for(const char* call : {"ibv_query_port", "ibv_create_cq", "ibv_create_qp", "ibv_modify_qp",
                          "rdma_create_event_channel", "rdma_create_id", "rdma_listen", "rdma_resolve_addr",
                          "rdma_resolve_route", "rdma_connect", "rdma_accept", "rdma_get_cm_event"}) {
    failNext(call, ENOMEM);
    const Error error = refusal();
    EXPECT_STREQ(error.call, call);
    EXPECT_EQ(error.code, ENOMEM) << call;
    EXPECT_EQ(error.origin, Origin::Verbs);
  }
}

TEST_F(VerbsIwarp, WhatTheOtherSideAnswersIsTold) {
  failNext("RDMA_CM_EVENT_ADDR_RESOLVED", ENODEV);
  EXPECT_STREQ(refusal().call, "rdma_resolve_addr");
  failNext("RDMA_CM_EVENT_ROUTE_RESOLVED", ETIMEDOUT);
  const Error route = refusal();
  EXPECT_STREQ(route.call, "rdma_resolve_route");
  EXPECT_EQ(route.code, ETIMEDOUT);
  failNext("RDMA_CM_EVENT_ESTABLISHED", ECONNREFUSED);
  EXPECT_EQ(refusal().code, ECONNREFUSED);
}

TEST_F(VerbsIwarp, AnAddressOfAnotherDevicesIsNotTaken) {
  failNext("another device", 1);
  const Error error = refusal();
  EXPECT_STREQ(error.call, "rdma_resolve_addr");
  EXPECT_EQ(error.code, ENODEV);
}

TEST_F(VerbsIwarp, APortThatIsDownIsTold) {
  Nic nic = rxe();
  nic.iWarp = true;
  nic.portUp = false;
  reset(nic);
  EXPECT_EQ(refusal().code, ENETDOWN);
}

TEST_F(VerbsIwarp, BetweenHostsItIsUnsupported) {
  const auto server = VerbsServer::listen(domain(), "127.0.0.1", 0);
  ASSERT_FALSE(server);
  EXPECT_STREQ(server.error().call, "VerbsRemote");
  EXPECT_EQ(server.error().kind, Errc::Unsupported);
  EXPECT_THAT(server.error().hints().front(), testing::HasSubstr("of InfiniBand or RoCE"));
}

} // namespace
} // namespace rdmagpu::nictest
