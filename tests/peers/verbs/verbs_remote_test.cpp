#include "verbs_fixture.hpp"

#include <net/verbs_wire.hpp>
#include <os/socket.hpp>
#include <rdmagpu/verbs_device.hpp>
#include <rdmagpu/verbs_remote.hpp>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <thread>

namespace rdmagpu::nictest {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

constexpr const char* here = "127.0.0.1";
constexpr VerbsRemoteOptions quick{.timeout = 2000ms};

/// Both hosts in one process, with one NIC in software.
class VerbsRemotes : public Verbs {
protected:
  void TearDown() override {
    EXPECT_EQ(liveQueues(), 0U);
    Verbs::TearDown();
  }

  /// Waits for one client in a thread of its own.
  class Server {
  public:
    explicit Server(const VerbsRemoteOptions& options = quick) {
      auto made = VerbsServer::listen(domain(), here, 0, options);
      EXPECT_TRUE(made) << made.error().message();
      m_server.emplace(*std::move(made));
      m_thread = std::thread{[this] { m_served.emplace(m_server->serve()); }};
    }
    ~Server() {
      if(m_thread.joinable())
        m_thread.join();
    }
    std::uint16_t port() const { return m_server->tcpPort(); }
    Result<VerbsServed> end() {
      m_thread.join();
      return *m_served;
    }

  private:
    std::optional<VerbsServer> m_server;
    std::optional<Result<VerbsServed>> m_served;
    std::thread m_thread;
  };

  static os::Fd tcpTo(const Server& server) {
    auto made = os::connectTo(here, server.port(), 1000ms);
    EXPECT_TRUE(made);
    return made ? *std::move(made) : os::Fd{};
  }

  /// As a client that moves so much at once.
  static void greet(const os::Fd& socket, std::uint32_t maxMessage) {
    ibv_gid gid{};
    gid.raw[15] = 1; // as the NIC in software wants it
    const net::Hello hello{
        .end = {.pairNumber = 1, .mtu = IBV_MTU_1024, .maxMessage = maxMessage, .global = true, .gid = gid}};
    EXPECT_TRUE(os::sendAll(socket.get(), net::encode(hello), 1000ms));
    std::array<std::byte, net::helloBytes> answer{};
    EXPECT_TRUE(os::receiveAll(socket.get(), answer, 1000ms));
  }
};

TEST_F(VerbsRemotes, VerifyProvesBothDirections) {
  for(const bool ethernet : {true, false}) {
    Nic nic = mlx5();
    nic.ethernet = ethernet;
    reset(nic);
    const RdmaGpuBuffer buffer = makeBuffer();
    const VerbsRegistration slots = registerOn(buffer);
    Server server;
    auto peer = VerbsRemote::connect(slots, here, server.port(), quick);
    ASSERT_TRUE(peer) << peer.error().message();
    const auto report = verify(buffer, *peer);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_STREQ(report->peer, "verbs:nic0");
    EXPECT_EQ(report->write, Answer::Yes);
    EXPECT_EQ(report->read, Answer::Yes);
    EXPECT_EQ(report->proof.by, Agent::Software);
    EXPECT_TRUE(peer->finish(report->write, report->read));
    const auto served = server.end();
    ASSERT_TRUE(served) << served.error().message();
    EXPECT_EQ(served->client, "::ffff:127.0.0.1");
    EXPECT_EQ(served->written, 4 * stride);
    EXPECT_EQ(served->read, 4 * stride);
    EXPECT_EQ(served->writeProven, Answer::Yes);
    EXPECT_EQ(served->readProven, Answer::Yes);
    EXPECT_EQ(served->port.device, "nic0");
  }
}

TEST_F(VerbsRemotes, AnyTimeoutIsCountedTo) {
  for(const auto timeout : {std::chrono::milliseconds::max(), std::chrono::milliseconds{INT32_MAX}}) {
    const RdmaGpuBuffer buffer = makeBuffer();
    const VerbsRegistration slots = registerOn(buffer);
    Server server{{.timeout = timeout}};
    auto peer = VerbsRemote::connect(slots, here, server.port(), {.timeout = timeout});
    ASSERT_TRUE(peer) << peer.error().message();
    std::this_thread::sleep_for(50ms); // the server waits
    const auto report = verify(buffer, *peer);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->read, Answer::Yes);
    EXPECT_TRUE(peer->finish(report->write, report->read));
    EXPECT_TRUE(server.end());
  }
}

TEST_F(VerbsRemotes, TransferThatFailsIsToldAndTheNextOneGoesThrough) {
  Nic nic = mlx5();
  nic.readsArrive = false;
  reset(nic);
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  Server server;
  auto peer = VerbsRemote::connect(slots, here, server.port(), quick);
  ASSERT_TRUE(peer) << peer.error().message();
  const auto report = verify(buffer, *peer);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->write, Answer::Yes);
  EXPECT_EQ(report->read, Answer::No);
  EXPECT_EQ(report->readError.message(), "ibv_poll_cq (RDMA READ) failed: IBV_WC_REM_OP_ERR (11); slot 0");
  std::byte one{};
  EXPECT_TRUE(peer->write(0, {&one, 1}));
  failNext("ibv_post_send", ENOMEM);
  EXPECT_STREQ(peer->write(0, {&one, 1}).error().call, "ibv_post_send");
  failNext("ibv_poll_cq", EIO);
  EXPECT_STREQ(peer->write(0, {&one, 1}).error().call, "ibv_poll_cq");
  EXPECT_TRUE(peer->write(0, {&one, 1}));
  EXPECT_STREQ(peer->write(4, {&one, 1}).error().codeName, "SlotOutOfRange");
  EXPECT_TRUE(peer->finish(report->write, report->read));
  EXPECT_EQ(server.end()->readProven, Answer::No);
}

TEST_F(VerbsRemotes, ClientThatGoesAwayIsTold) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  Server server;
  { ASSERT_TRUE(VerbsRemote::connect(slots, here, server.port(), quick)); }
  const auto served = server.end();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ECONNRESET);
  EXPECT_FALSE(served.error().hints().empty());
}

TEST_F(VerbsRemotes, ServerThatIsNotThereIsTold) {
  const RdmaGpuBuffer buffer = makeBuffer();
  const VerbsRegistration slots = registerOn(buffer);
  std::uint16_t port{};
  {
    const auto made = VerbsServer::listen(domain(), here, 0);
    ASSERT_TRUE(made);
    port = made->tcpPort();
    EXPECT_EQ(VerbsServer::listen(domain(), here, port).error().code, EADDRINUSE);
  }
  const auto refused = VerbsRemote::connect(slots, here, port, quick);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ECONNREFUSED);
  EXPECT_THAT(refused.error().hints().front(), HasSubstr("--listen"));
  EXPECT_STREQ(VerbsRemote::connect(slots, "no.such.host.invalid", port, quick).error().codeName,
               "HostUnknown");
  EXPECT_STREQ(VerbsServer::listen(domain(), "no.such.host.invalid", 0).error().codeName, "HostUnknown");
  EXPECT_EQ(VerbsServer::listen(domain(), "192.0.2.1", 0).error().code, EADDRNOTAVAIL);
  EXPECT_STREQ(VerbsServer::listen(nullptr, here, 0).error().codeName, "DomainNull");
  EXPECT_STREQ(VerbsRemote::connect({}, here, port).error().codeName, "BufferEmpty");
}

TEST_F(VerbsRemotes, ServerNeedsAPortThatIsUp) {
  Nic nic = rxe();
  nic.portUp = false;
  reset(nic);
  EXPECT_EQ(VerbsServer::listen(domain(), here, 0).error().code, ENETDOWN);
}

TEST_F(VerbsRemotes, WhoeverSaysNothingIsNotWaitedForLonger) {
  Server server{{.timeout = 50ms}};
  const os::Fd silent = tcpTo(server);
  EXPECT_EQ(server.end().error().code, ETIMEDOUT);
}

TEST_F(VerbsRemotes, WhatIsNoHelloIsRefused) {
  const net::Hello good{.end = {.pairNumber = 1, .mtu = IBV_MTU_1024, .maxMessage = 4096}};
  struct {
    std::size_t at;
    std::uint8_t value;
    const char* refusal;
  } const rows[] = {{0, 'G', "OtherNotRdmagpu"}, {11, 2, "OtherVersion"}, {15, 65, "OtherMessage"},
                    {16, 1, "OtherMessage"},     {20, 1, "OtherMessage"}, {25, 1, "OtherMessage"},
                    {31, 9, "OtherMessage"},     {31, 0, "OtherMessage"}, {34, 0, "OtherMessage"}};
  EXPECT_TRUE(net::decodeHello(net::encode(good)));
  for(const auto& row : rows) {
    Server server;
    auto message = net::encode(good);
    message[row.at] = std::byte{row.value};
    const os::Fd socket = tcpTo(server);
    ASSERT_TRUE(os::sendAll(socket.get(), message, 1000ms));
    const auto served = server.end();
    ASSERT_FALSE(served) << row.at;
    EXPECT_STREQ(served.error().codeName, row.refusal) << row.at;
    EXPECT_FALSE(served.error().hints().empty());
  }
}

TEST_F(VerbsRemotes, WhatIsNoRequestIsRefused) {
  const net::Request rows[] = {{.ask = static_cast<net::Ask>(0)},
                               {.ask = static_cast<net::Ask>(5)},
                               {.ask = net::Ask::Write, .bytes = 0},
                               {.ask = net::Ask::Write, .bytes = 4097}, // more than was agreed on
                               {.ask = net::Ask::Read, .bytes = 0xffffffff},
                               {.ask = net::Ask::Again, .bytes = 1},
                               {.ask = net::Ask::End, .address = 0x300},
                               {.ask = net::Ask::End, .address = 3}};
  for(const net::Request& row : rows) {
    Server server;
    const os::Fd socket = tcpTo(server);
    greet(socket, 4096);
    ASSERT_TRUE(os::sendAll(socket.get(), net::encode(row), 1000ms));
    const auto served = server.end();
    ASSERT_FALSE(served);
    EXPECT_STREQ(served.error().codeName, "OtherMessage");
  }
}

TEST_F(VerbsRemotes, NewQueuePairsDoNotRaiseWhatMayBeAskedFor) {
  Server server;
  const os::Fd socket = tcpTo(server);
  greet(socket, 4096);
  ASSERT_TRUE(os::sendAll(socket.get(), net::encode(net::Request{.ask = net::Ask::Again}), 1000ms));
  greet(socket, 8192);
  const net::Request larger{.ask = net::Ask::Write, .bytes = 8192};
  ASSERT_TRUE(os::sendAll(socket.get(), net::encode(larger), 1000ms));
  const auto served = server.end();
  ASSERT_FALSE(served);
  EXPECT_STREQ(served.error().codeName, "OtherMessage");
}

TEST_F(VerbsRemotes, WhatIsNoReplyIsRefused) {
  EXPECT_TRUE(net::decodeReply(net::encode(net::Reply{})));
  for(const net::Reply& row :
      {net::Reply{static_cast<net::Outcome>(4), 1}, {net::Outcome::Done, 1}, {net::Outcome::Completion, 0}})
    EXPECT_STREQ(net::decodeReply(net::encode(row)).error().codeName, "OtherMessage");
}

} // namespace
} // namespace rdmagpu::nictest
