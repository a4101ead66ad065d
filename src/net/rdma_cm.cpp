#include <base/library_error.hpp>
#include <net/rdma_cm.hpp>
#include <os/error.hpp>
#include <os/library.hpp>
#include <os/local_address.hpp>
#include <os/socket.hpp>

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rdmagpu::net {
namespace {

constexpr std::chrono::milliseconds patience{10'000};

Error refusal(const char* call, int code) noexcept { return os::error(Origin::Verbs, call, code); }

/// What is used of librdmacm.
struct Library {
  decltype(&::rdma_create_event_channel) createChannel{};
  decltype(&::rdma_destroy_event_channel) destroyChannel{};
  decltype(&::rdma_create_id) createId{};
  decltype(&::rdma_destroy_id) destroyId{};
  decltype(&::rdma_bind_addr) bindAddress{};
  decltype(&::rdma_listen) listen{};
  decltype(&::rdma_get_src_port) sourcePort{};
  decltype(&::rdma_resolve_addr) resolveAddress{};
  decltype(&::rdma_resolve_route) resolveRoute{};
  decltype(&::rdma_connect) connect{};
  decltype(&::rdma_accept) accept{};
  decltype(&::rdma_disconnect) disconnect{};
  decltype(&::rdma_get_cm_event) getEvent{};
  decltype(&::rdma_ack_cm_event) ackEvent{};
};

Result<Library> openLibrary() {
  auto opened = os::Library::open("librdmacm.so.1");
  if(!opened)
    return opened.error();
  Library cm;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        opened->find(name)); // what a symbol table gives has no type
    if(!function)
      missing = name;
  };
  find(cm.createChannel, "rdma_create_event_channel");
  find(cm.destroyChannel, "rdma_destroy_event_channel");
  find(cm.createId, "rdma_create_id");
  find(cm.destroyId, "rdma_destroy_id");
  find(cm.bindAddress, "rdma_bind_addr");
  find(cm.listen, "rdma_listen");
  find(cm.sourcePort, "rdma_get_src_port");
  find(cm.resolveAddress, "rdma_resolve_addr");
  find(cm.resolveRoute, "rdma_resolve_route");
  find(cm.connect, "rdma_connect");
  find(cm.accept, "rdma_accept");
  find(cm.disconnect, "rdma_disconnect");
  find(cm.getEvent, "rdma_get_cm_event");
  find(cm.ackEvent, "rdma_ack_cm_event");
  if(missing)
    return libraryError(missing, LibraryCode::DriverTooOld);
  return cm;
}

struct DestroyChannel {
  const Library* cm{};
  void operator()(rdma_event_channel* channel) const noexcept { cm->destroyChannel(channel); }
};
struct DestroyId {
  const Library* cm{};
  void operator()(rdma_cm_id* id) const noexcept { cm->destroyId(id); }
};
using Channel = std::unique_ptr<rdma_event_channel, DestroyChannel>;
using Id = std::unique_ptr<rdma_cm_id, DestroyId>;

class Pair final : public CmPair {
public:
  Pair(ibv_pd* domain, std::uint8_t port, const Library& cm) : m_domain(domain), m_port(port), m_cm(cm) {}
  Pair(Pair&&) = delete;
  ~Pair() override {
    if(m_connected)
      m_cm.disconnect(m_client.get());
  }

  ibv_qp* sender() const noexcept override { return m_sender.get(); }
  ibv_cq* completions() const noexcept override { return m_completions.get(); }
  const std::string& address() const noexcept override { return m_text; }

  Result<void> connect() {
    for(const auto& step : {&Pair::makeQueues, &Pair::listen, &Pair::resolve, &Pair::shakeHands}) {
      if(const auto done = (this->*step)(); !done)
        return done;
    }
    return {};
  }

private:
  Result<void> makeQueues() {
    errno = 0;
    m_completions.reset(ibv_create_cq(m_domain->context, 4, nullptr, nullptr, 0));
    if(!m_completions)
      return refusal("ibv_create_cq", errno);
    for(auto* pair : {&m_sender, &m_target}) {
      ibv_qp_init_attr wanted{};
      wanted.send_cq = wanted.recv_cq = m_completions.get();
      wanted.cap = {
          .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
      wanted.qp_type = IBV_QPT_RC;
      errno = 0;
      pair->reset(ibv_create_qp(m_domain, &wanted));
      if(!*pair)
        return refusal("ibv_create_qp", errno);
      ibv_qp_attr init{};
      init.qp_state = IBV_QPS_INIT;
      init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
      if(const int code = ibv_modify_qp(pair->get(), &init, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS); code != 0)
        return refusal("ibv_modify_qp", code);
    }
    return {};
  }

  Result<Id> makeId(Channel& channel) {
    errno = 0;
    channel = Channel{m_cm.createChannel(), {&m_cm}};
    if(!channel)
      return refusal("rdma_create_event_channel", errno);
    rdma_cm_id* id{};
    if(m_cm.createId(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0)
      return refusal("rdma_create_id", errno);
    return Id{id, {&m_cm}};
  }

  bool isOurs(const rdma_cm_id& id) const noexcept {
    return id.verbs && std::string_view{id.verbs->device->name} == m_domain->context->device->name &&
           id.port_num == m_port;
  }

  /// On the address that the device has: the kernel knows which one that is when an id is bound to it.
  Result<void> listen() {
    for(os::LocalAddress& address : os::LocalAddress::all()) {
      auto id = makeId(m_listening);
      if(!id)
        return id.error();
      if(m_cm.bindAddress(id->get(), static_cast<sockaddr*>(address.native())) != 0 || !isOurs(**id)) {
        id->reset(); // before its channel
        continue;
      }
      if(m_cm.listen(id->get(), 1) != 0)
        return refusal("rdma_listen", errno);
      address.setPort(m_cm.sourcePort(id->get()));
      m_address = address;
      m_text = address.text();
      m_listener = *std::move(id);
      return {};
    }
    return refusal("rdma_bind_addr", ENODEV);
  }

  Result<void> resolve() {
    auto id = makeId(m_asking);
    if(!id)
      return id.error();
    m_client = *std::move(id);
    const int limit = static_cast<int>(patience.count());
    if(m_cm.resolveAddress(m_client.get(), nullptr, static_cast<sockaddr*>(m_address.native()), limit) != 0)
      return refusal("rdma_resolve_addr", errno);
    if(const auto done = await(m_asking, RDMA_CM_EVENT_ADDR_RESOLVED, "rdma_resolve_addr"); !done)
      return done;
    if(!isOurs(*m_client)) // of two devices with one address the kernel took the other
      return refusal("rdma_resolve_addr", ENODEV);
    if(m_cm.resolveRoute(m_client.get(), limit) != 0)
      return refusal("rdma_resolve_route", errno);
    return await(m_asking, RDMA_CM_EVENT_ROUTE_RESOLVED, "rdma_resolve_route");
  }

  Result<void> shakeHands() {
    rdma_conn_param wanted{};
    wanted.responder_resources = wanted.initiator_depth = 1;
    wanted.retry_count = wanted.rnr_retry_count = 7;
    wanted.qp_num = m_sender->qp_num;
    if(m_cm.connect(m_client.get(), &wanted) != 0)
      return refusal("rdma_connect", errno);
    if(const auto asked = await(m_listening, RDMA_CM_EVENT_CONNECT_REQUEST, "rdma_connect"); !asked)
      return asked;
    wanted.qp_num = m_target->qp_num;
    if(m_cm.accept(m_server.get(), &wanted) != 0)
      return refusal("rdma_accept", errno);
    if(const auto done = await(m_asking, RDMA_CM_EVENT_ESTABLISHED, "rdma_connect"); !done)
      return done;
    m_connected = true;
    return await(m_listening, RDMA_CM_EVENT_ESTABLISHED, "rdma_accept");
  }

  Result<void> await(const Channel& channel, rdma_cm_event_type wanted, const char* call) {
    if(const auto ready = os::awaitInput(channel->fd, patience); !ready)
      return refusal(call, static_cast<int>(ready.error().code));
    rdma_cm_event* event{};
    if(m_cm.getEvent(channel.get(), &event) != 0)
      return refusal("rdma_get_cm_event", errno);
    const rdma_cm_event_type came = event->event;
    const int status = event->status;
    if(came == RDMA_CM_EVENT_CONNECT_REQUEST)
      m_server = Id{event->id, {&m_cm}};
    m_cm.ackEvent(event);
    if(came == wanted)
      return {};
    return refusal(call, status < 0 ? -status : status > 0 ? ECONNREFUSED : EPROTO);
  }

  ibv_pd* m_domain;
  const std::uint8_t m_port;
  const Library m_cm;
  os::LocalAddress m_address;
  std::string m_text;
  // Ids go before their channels, and queue pairs before the connections that they are of.
  Channel m_listening;
  Channel m_asking;
  Id m_listener;
  Id m_client;
  Id m_server;
  std::unique_ptr<ibv_cq, DestroyQueue> m_completions;
  std::unique_ptr<ibv_qp, DestroyQueue> m_sender;
  std::unique_ptr<ibv_qp, DestroyQueue> m_target;
  bool m_connected{};
};

} // namespace

Result<std::unique_ptr<CmPair>> CmPair::make(ibv_pd* domain, std::uint8_t port) {
  const auto cm = openLibrary();
  if(!cm)
    return cm.error();
  auto made = std::make_unique<Pair>(domain, port, *cm);
  if(const auto connected = made->connect(); !connected)
    return connected.error();
  return std::unique_ptr<CmPair>{std::move(made)};
}

} // namespace rdmagpu::net
