// A librdmacm.so.1 whose device and queue pairs are the NIC in software of the test program. Ids that ask and
// ids that listen find each other by nothing but being the only ones.
#include <rdma/rdma_cma.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>

extern "C" {
int rdmagpu_standin_cm_enter(const char* call);
ibv_context* rdmagpu_standin_cm_context();
void rdmagpu_standin_cm_connect(std::uint32_t one, std::uint32_t other);
}

namespace {

std::map<rdma_event_channel*, std::deque<rdma_cm_event*>> channels; // of one thread
rdma_cm_id* listening = nullptr;
rdma_cm_id* asking = nullptr;
std::uint32_t askingPair = 0;

int refuse(const char* call) {
  errno = rdmagpu_standin_cm_enter(call);
  return errno == 0 ? 0 : -1;
}

void tell(rdma_cm_id* id, rdma_cm_event_type what, rdma_cm_id* of = nullptr) {
  const char* names[] = {"RDMA_CM_EVENT_ADDR_RESOLVED", "", "RDMA_CM_EVENT_ROUTE_RESOLVED"};
  const int refused = what <= RDMA_CM_EVENT_ROUTE_RESOLVED ? rdmagpu_standin_cm_enter(names[what])
                      : what == RDMA_CM_EVENT_ESTABLISHED && of
                          ? rdmagpu_standin_cm_enter("RDMA_CM_EVENT_ESTABLISHED")
                          : 0;
  auto* event = new rdma_cm_event{};
  event->id = of ? of : id;
  event->event = refused ? RDMA_CM_EVENT_REJECTED : what;
  event->status = -refused;
  channels[id->channel].push_back(event);
  eventfd_write(id->channel->fd, 1);
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED rdma_event_channel* rdma_create_event_channel() {
  if(refuse("rdma_create_event_channel"))
    return nullptr;
  auto* channel = new rdma_event_channel{eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)};
  channels[channel];
  return channel;
}
EXPORTED void rdma_destroy_event_channel(rdma_event_channel* channel) {
  close(channel->fd);
  for(rdma_cm_event* event : channels[channel]) { // nobody has fetched them
    if(event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
      delete event->id;
    delete event;
  }
  channels.erase(channel);
  delete channel;
}
EXPORTED int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void*, rdma_port_space) {
  if(refuse("rdma_create_id"))
    return -1;
  *id = new rdma_cm_id{};
  (*id)->channel = channel;
  return 0;
}
EXPORTED int rdma_destroy_id(rdma_cm_id* id) {
  delete id;
  return 0;
}
EXPORTED int rdma_bind_addr(rdma_cm_id* id, sockaddr*) {
  id->verbs = rdmagpu_standin_cm_context();
  id->port_num = 1;
  return refuse("rdma_bind_addr");
}
EXPORTED int rdma_listen(rdma_cm_id* id, int) {
  listening = id;
  return refuse("rdma_listen");
}
EXPORTED __be16 rdma_get_src_port(rdma_cm_id*) { return 0x1234; }
EXPORTED int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr*, int) {
  if(refuse("rdma_resolve_addr"))
    return -1;
  id->verbs = rdmagpu_standin_cm_enter("another device") ? nullptr : rdmagpu_standin_cm_context();
  id->port_num = 1;
  tell(id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}
EXPORTED int rdma_resolve_route(rdma_cm_id* id, int) {
  if(refuse("rdma_resolve_route"))
    return -1;
  tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}
EXPORTED int rdma_connect(rdma_cm_id* id, rdma_conn_param* wanted) {
  if(refuse("rdma_connect"))
    return -1;
  asking = id;
  askingPair = wanted->qp_num;
  auto* server = new rdma_cm_id{};
  server->channel = listening->channel;
  tell(listening, RDMA_CM_EVENT_CONNECT_REQUEST, server);
  return 0;
}
EXPORTED int rdma_accept(rdma_cm_id* id, rdma_conn_param* wanted) {
  if(refuse("rdma_accept"))
    return -1;
  rdmagpu_standin_cm_connect(askingPair, wanted->qp_num);
  tell(asking, RDMA_CM_EVENT_ESTABLISHED);
  tell(id, RDMA_CM_EVENT_ESTABLISHED, id);
  return 0;
}
EXPORTED int rdma_disconnect(rdma_cm_id*) { return 0; }
EXPORTED int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if(refuse("rdma_get_cm_event"))
    return -1;
  eventfd_t one{};
  eventfd_read(channel->fd, &one);
  *event = channels[channel].front();
  channels[channel].pop_front();
  return 0;
}
EXPORTED int rdma_ack_cm_event(rdma_cm_event* event) {
  delete event;
  return 0;
}
