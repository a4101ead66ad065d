#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <net/verbs_link.hpp>
#include <os/ip_address.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/verbs_remote.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace rdmagpu {
namespace {

constexpr const char* call = "VerbsServer";

net::Reply replyOf(const Result<void>& done) noexcept {
  if(done)
    return {};
  const std::string_view failed = done.error().call;
  const net::Outcome outcome = failed == "ibv_post_send" ? net::Outcome::PostFailed
                               : failed == "ibv_poll_cq" ? net::Outcome::PollFailed
                                                         : net::Outcome::Completion;
  return {outcome, static_cast<std::uint32_t>(done.error().code)};
}

Result<Answer> answerOf(std::uint64_t value) {
  if(value > static_cast<std::uint64_t>(Answer::Yes))
    return libraryError(call, LibraryCode::OtherMessage, value);
  return static_cast<Answer>(value);
}

/// One client's time.
class Session {
public:
  Session(net::Link& link, const RdmaGpuBuffer& memory, const VerbsRegistration& registered)
      : m_link(link), m_memory(memory), m_registered(registered) {}

  Result<VerbsServed> run(std::string client) {
    m_served.client = std::move(client);
    m_served.port = m_link.pair().port();
    for(;;) {
      std::array<std::byte, net::requestBytes> message{};
      if(const auto got = m_link.await(message); !got)
        return got.error();
      const auto request = net::decodeRequest(message, limit());
      if(!request)
        return request.error();
      if(request->ask == net::Ask::End)
        return end(request->address);
      const auto done = request->ask == net::Ask::Again ? m_link.connectPairs() : move(*request);
      if(!done)
        return done.error();
    }
  }

private:
  /// New queue pairs may agree on more than the memory was made for.
  std::uint32_t limit() const noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(m_link.maxMessage(), m_memory.facts().frameBytes));
  }
  std::span<std::byte> own(std::uint32_t bytes) const {
    return {static_cast<std::byte*>(cpuAddress(m_memory.handoff(0))), bytes};
  }

  Result<void> move(const net::Request& request) {
    const bool writes = request.ask == net::Ask::Write;
    if(const auto got = m_link.receive(own(writes ? request.bytes : 0)); !got)
      return got;
    const auto done = m_link.pair().run({.opcode = writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
                                         .local = m_registered.iova(),
                                         .lkey = m_registered.lkey(),
                                         .remote = request.address,
                                         .rkey = request.rkey,
                                         .bytes = request.bytes});
    if(const auto sent = m_link.send(net::encode(replyOf(done))); !sent || !done)
      return sent;
    (writes ? m_served.written : m_served.read) += request.bytes;
    return m_link.send(own(writes ? 0 : request.bytes));
  }

  Result<VerbsServed> end(std::uint64_t verdict) {
    const auto written = answerOf(verdict >> 8U);
    const auto read = answerOf(verdict & 0xffU);
    if(!written || !read)
      return written ? read.error() : written.error();
    m_served.writeProven = *written;
    m_served.readProven = *read;
    return std::move(m_served);
  }

  net::Link& m_link;
  const RdmaGpuBuffer& m_memory;
  const VerbsRegistration& m_registered;
  VerbsServed m_served;
};

} // namespace

struct VerbsServer::Impl {
  ibv_pd* domain{};
  VerbsRemoteOptions options;
  os::Fd listener;
  std::uint16_t tcpPort{};
};

VerbsServer::VerbsServer(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
VerbsServer::~VerbsServer() = default;
VerbsServer::VerbsServer(VerbsServer&&) noexcept = default;
VerbsServer& VerbsServer::operator=(VerbsServer&&) noexcept = default;

std::uint16_t VerbsServer::tcpPort() const noexcept { return m_impl->tcpPort; }

Result<VerbsServer> VerbsServer::listen(ibv_pd* domain, const std::string& host, std::uint16_t tcpPort,
                                        const VerbsRemoteOptions& options) {
  return guarded(call, [&]() -> Result<VerbsServer> {
    if(!domain)
      return libraryError(call, LibraryCode::DomainNull);
    // Better now than when somebody has connected.
    if(const auto pair = net::QueuePair::make(domain, {.port = options.port, .gidIndex = options.gidIndex});
       !pair)
      return pair.error();
    auto listener = os::listenOn(host, tcpPort);
    if(!listener)
      return listener.error();
    const auto address = os::ownAddress(listener->get());
    if(!address)
      return address.error();
    return VerbsServer{std::make_unique<Impl>(Impl{
        .domain = domain, .options = options, .listener = *std::move(listener), .tcpPort = address->port})};
  });
}

Result<VerbsServed> VerbsServer::serve() {
  return guarded(call, [&]() -> Result<VerbsServed> {
    auto socket = os::acceptOne(m_impl->listener.get());
    if(!socket)
      return socket.error();
    const auto client = os::otherAddress(socket->get());
    if(!client)
      return client.error();
    net::Link link{m_impl->domain, m_impl->options, *std::move(socket), net::Role::Server};
    if(const auto done = link.connectPairs(); !done)
      return done.error();
    auto memory = RdmaGpuBuffer::make(
        {.api = RdmaGpuApi::HostFallback, .slotCount = 1, .frameBytes = link.maxMessage()});
    if(!memory)
      return memory.error();
    const auto registered = VerbsRegistration::make(m_impl->domain, *memory, {.access = Access::LocalWrite});
    if(!registered)
      return registered.error();
    return Session{link, *memory, *registered}.run(os::ipv6Text(client->bytes.data()));
  });
}

} // namespace rdmagpu
