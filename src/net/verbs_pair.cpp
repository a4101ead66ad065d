#include <net/rdma_cm.hpp>
#include <net/verbs_pair.hpp>
#include <os/error.hpp>
#include <os/files.hpp>
#include <os/ip_address.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace rdmagpu::net {
namespace {

/// Of one transfer, for which both ends need memory.
constexpr std::uint32_t mostAtOnce = 1U << 20U;

Error refusal(const char* call, int code) noexcept { return os::error(Origin::Verbs, call, code); }

struct Address {
  ibv_port_attr port{};
  ibv_gid gid{};
  std::uint32_t gidIndex{};
  bool global{};
};

bool isPreferred(const ibv_gid_entry& entry, const ibv_gid* preferred) noexcept {
  return preferred && entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
         std::memcmp(entry.gid.raw, preferred->raw, sizeof preferred->raw) == 0;
}

/// The best of the port's table: the preferred one, else the first of RoCE v2, else the first.
Result<void> chooseGid(ibv_context* context, const VerbsLoopbackOptions& options, const ibv_gid* preferred,
                       Address& own) {
  const auto entries = static_cast<std::uint32_t>(std::max(own.port.gid_tbl_len, 0));
  int code = ENODATA;
  int best = 0;
  // A table may have a thousand entries, each of which is a call to the kernel.
  const int enough = preferred ? 3 : 2;
  for(std::uint32_t i = options.gidIndex.value_or(0); i < entries && best < enough; ++i) {
    ibv_gid_entry entry{};
    const int refused = ibv_query_gid_ex(context, options.port, i, &entry, 0);
    const int rank = refused                                  ? 0
                     : isPreferred(entry, preferred)          ? 3
                     : entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2
                                                              : 1;
    if(rank > best) {
      own.gid = entry.gid;
      own.gidIndex = i;
      best = rank;
    }
    code = refused ? refused : code;
    if(options.gidIndex)
      break;
  }
  if(best == 0)
    return refusal("ibv_query_gid_ex", code);
  return {};
}

Result<Address> addressOf(ibv_context* context, const VerbsLoopbackOptions& options,
                          const ibv_gid* preferred) {
  Address own;
  if(const int code = ibv_query_port(context, options.port, &own.port); code != 0)
    return refusal("ibv_query_port", code);
  if(own.port.state != IBV_PORT_ACTIVE)
    return refusal("ibv_query_port", ENETDOWN);
  own.global = own.port.link_layer == IBV_LINK_LAYER_ETHERNET || options.gidIndex;
  if(!own.global)
    return own;
  if(const auto chosen = chooseGid(context, options, preferred, own); !chosen)
    return chosen.error();
  return own;
}

Result<void> modify(ibv_qp* pair, ibv_qp_attr attributes, int mask) {
  if(const int code = ibv_modify_qp(pair, &attributes, mask | IBV_QP_STATE); code != 0)
    return refusal("ibv_modify_qp", code);
  return {};
}

/// Not that of a connection a moment ago, whose packets may still be under way.
std::uint32_t somePacket() {
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count()) & 0xffffffU;
}

Result<void> toInit(ibv_qp* pair, std::uint8_t port) {
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = port;
  init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return modify(pair, init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

struct Status {
  ibv_wc_status value;
  const char* name;
};
#define RDMAGPU_STATUS(name)                                                                                 \
  Status { name, #name }
constexpr std::array statuses{
    RDMAGPU_STATUS(IBV_WC_LOC_LEN_ERR),      RDMAGPU_STATUS(IBV_WC_LOC_QP_OP_ERR),
    RDMAGPU_STATUS(IBV_WC_LOC_PROT_ERR),     RDMAGPU_STATUS(IBV_WC_WR_FLUSH_ERR),
    RDMAGPU_STATUS(IBV_WC_LOC_ACCESS_ERR),   RDMAGPU_STATUS(IBV_WC_REM_INV_REQ_ERR),
    RDMAGPU_STATUS(IBV_WC_REM_ACCESS_ERR),   RDMAGPU_STATUS(IBV_WC_REM_OP_ERR),
    RDMAGPU_STATUS(IBV_WC_RETRY_EXC_ERR),    RDMAGPU_STATUS(IBV_WC_RNR_RETRY_EXC_ERR),
    RDMAGPU_STATUS(IBV_WC_REM_ABORT_ERR),    RDMAGPU_STATUS(IBV_WC_FATAL_ERR),
    RDMAGPU_STATUS(IBV_WC_RESP_TIMEOUT_ERR), RDMAGPU_STATUS(IBV_WC_GENERAL_ERR)};
#undef RDMAGPU_STATUS

} // namespace

Error transferFailure(ibv_wr_opcode opcode, std::int64_t status) noexcept {
  const char* call = opcode == IBV_WR_RDMA_WRITE ? "ibv_poll_cq (RDMA WRITE)" : "ibv_poll_cq (RDMA READ)";
  Error error{.kind = Errc::Internal, .origin = Origin::Verbs, .code = status, .call = call};
  error.codeName = "IBV_WC_?";
  error.finding = "rdma-path";
  for(const Status& known : statuses) {
    if(known.value == status)
      error.codeName = known.name;
  }
  return error;
}

bool isHardware(const ibv_device& device) {
  return os::exists(std::string{device.ibdev_path} + "/device").value_or(false);
}

Result<QueuePair> QueuePair::make(ibv_pd* domain, const VerbsLoopbackOptions& options,
                                  const ibv_gid* preferred) {
  ibv_context* context = domain->context;
  if(isIwarp(*domain))
    return refusal("VerbsRemote", EOPNOTSUPP);
  const auto own = addressOf(context, options, preferred);
  if(!own)
    return own.error();
  QueuePair made;
  made.m_port = options.port;
  made.m_gidIndex = own->gidIndex;
  errno = 0;
  made.m_completions.reset(ibv_create_cq(context, 4, nullptr, nullptr, 0));
  if(!made.m_completions)
    return refusal("ibv_create_cq", errno);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = made.m_completions.get();
  wanted.recv_cq = made.m_completions.get();
  wanted.cap = {
      .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  wanted.qp_type = IBV_QPT_RC;
  errno = 0;
  made.m_pair.reset(ibv_create_qp(domain, &wanted));
  if(!made.m_pair)
    return refusal("ibv_create_qp", errno);
  if(const auto done = toInit(made.m_pair.get(), options.port); !done)
    return done.error();
  made.m_own = {.pairNumber = made.m_pair->qp_num,
                .firstPacket = somePacket(),
                .lid = own->port.lid,
                .mtu = own->port.active_mtu,
                .maxMessage = std::max(std::min(own->port.max_msg_sz, mostAtOnce), std::uint32_t{1}),
                .global = own->global,
                .gid = own->gid};
  return made;
}

VerbsPort QueuePair::port() const {
  VerbsPort port{
      .device = m_pair->context->device->name, .port = m_port, .gidIndex = {}, .gid = {}, .address = {}};
  if(m_own.global) {
    port.gidIndex = m_gidIndex;
    port.gid = os::ipv6Text(m_own.gid.raw);
  }
  return port;
}

/// With the timers that the specification's examples have.
Result<void> QueuePair::connect(const Endpoint& other, std::uint8_t hops) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = static_cast<ibv_mtu>(std::min(m_own.mtu, other.mtu));
  receive.dest_qp_num = other.pairNumber;
  receive.rq_psn = other.firstPacket;
  receive.max_dest_rd_atomic = 1;
  receive.min_rnr_timer = 12;
  receive.ah_attr.dlid = static_cast<std::uint16_t>(other.lid);
  receive.ah_attr.port_num = m_port;
  receive.ah_attr.is_global = m_own.global;
  receive.ah_attr.grh.dgid = other.gid;
  receive.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(m_gidIndex);
  receive.ah_attr.grh.hop_limit = hops;
  const int toReceive = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if(const auto done = modify(m_pair.get(), receive, toReceive); !done)
    return done;
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = m_own.firstPacket;
  send.timeout = 14; // 67 ms
  send.retry_cnt = 7;
  send.rnr_retry = 7;
  send.max_rd_atomic = 1;
  return modify(m_pair.get(), send,
                IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                    IBV_QP_MAX_QP_RD_ATOMIC);
}

Result<void> runTransfer(ibv_qp* pair, ibv_cq* completions, const Transfer& transfer) {
  ibv_sge local{.addr = transfer.local, .length = transfer.bytes, .lkey = transfer.lkey};
  ibv_send_wr request{};
  request.sg_list = &local;
  request.num_sge = 1;
  request.opcode = transfer.opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = transfer.remote;
  request.wr.rdma.rkey = transfer.rkey;
  ibv_send_wr* bad{};
  if(const int code = ibv_post_send(pair, &request, &bad); code != 0)
    return refusal("ibv_post_send", code);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  for(;;) {
    ibv_wc completion{};
    const int count = ibv_poll_cq(completions, 1, &completion);
    if(count < 0)
      return refusal("ibv_poll_cq", EIO);
    if(count > 0)
      return completion.status == IBV_WC_SUCCESS ? Result<void>{}
                                                 : transferFailure(transfer.opcode, completion.status);
    if(std::chrono::steady_clock::now() > deadline)
      return refusal("ibv_poll_cq", ETIMEDOUT);
    std::this_thread::yield();
  }
}

bool isIwarp(const ibv_pd& domain) noexcept {
  return domain.context->device->transport_type == IBV_TRANSPORT_IWARP;
}

Result<void> ConnectedPair::run(const Transfer& transfer) {
  return m_managed ? runTransfer(m_managed->sender(), m_managed->completions(), transfer)
                   : m_sender.run(transfer);
}

/// Its GIDs are no addresses.
Result<ConnectedPair> ConnectedPair::byManager(ibv_pd* domain, const VerbsLoopbackOptions& options) {
  ibv_port_attr port{};
  if(const int code = ibv_query_port(domain->context, options.port, &port); code != 0)
    return refusal("ibv_query_port", code);
  if(port.state != IBV_PORT_ACTIVE)
    return refusal("ibv_query_port", ENETDOWN);
  auto pair = CmPair::make(domain, options.port);
  if(!pair)
    return pair.error();
  ConnectedPair made;
  made.m_maxMessage = std::max(std::min(port.max_msg_sz, mostAtOnce), std::uint32_t{1});
  made.m_port = {.device = domain->context->device->name,
                 .port = options.port,
                 .gidIndex = {},
                 .gid = {},
                 .address = (*pair)->address()};
  made.m_managed = *std::move(pair);
  return made;
}

Result<ConnectedPair> ConnectedPair::make(ibv_pd* domain, const VerbsLoopbackOptions& options) {
  if(isIwarp(*domain))
    return byManager(domain, options);
  auto sender = QueuePair::make(domain, options);
  if(!sender)
    return sender.error();
  auto target = QueuePair::make(domain, options);
  if(!target)
    return target.error();
  ConnectedPair made;
  made.m_maxMessage = sender->endpoint().maxMessage;
  made.m_port = sender->port();
  made.m_sender = *std::move(sender);
  made.m_target = *std::move(target);
  constexpr std::uint8_t hops = 1;
  if(const auto done = made.m_target.connect(made.m_sender.endpoint(), hops); !done)
    return done.error();
  if(const auto done = made.m_sender.connect(made.m_target.endpoint(), hops); !done)
    return done.error();
  return made;
}

} // namespace rdmagpu::net
