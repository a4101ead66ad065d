#include "nic_standin.hpp"

#include <infiniband/verbs.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace rdmagpu::nictest {
namespace {

constexpr std::uint64_t page = 4096;
constexpr unsigned dmaBufAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING;
constexpr unsigned pageAccess =
    dmaBufAccess | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

struct State {
  std::mutex mutex;
  Nic nic;
  ibv_device device{};
  ibv_context context{};
  ibv_pd domains[2]{};
  std::vector<std::unique_ptr<ibv_mr>> regions;
  std::vector<Registration> registrations; ///< Of the regions, in their order.
  std::map<std::uint64_t, std::size_t> devices;
  std::vector<std::weak_ptr<const void>> watched;
  std::map<std::string, int> failures;
  std::map<std::string, int> counts;
  std::vector<std::string> violations;
  std::uint32_t nextKey = 0x100;
  std::vector<std::unique_ptr<ibv_cq>> queues;
  std::vector<std::unique_ptr<ibv_qp>> pairs;
  std::map<std::uint32_t, std::uint32_t> connections; ///< From each pair's number to the other's.
  std::vector<ibv_wc> completions;
  std::size_t lists{};
  std::size_t opened{};
  std::size_t allocated{}; ///< Domains.
};

State& state() {
  static State made;
  return made;
}

/// The failure that was asked for; 0 where none was.
int enter(const char* name) {
  ++state().counts[name];
  const auto found = state().failures.find(name);
  if(found == state().failures.end())
    return 0;
  const int code = found->second;
  state().failures.erase(found);
  return code;
}

ibv_mr* fail(int code) {
  errno = code;
  return nullptr;
}

bool isDevice(std::uint64_t address, std::size_t bytes) {
  const auto& devices = state().devices;
  auto after = devices.upper_bound(address);
  if(after == devices.begin())
    return false;
  --after;
  return address + bytes <= after->first + after->second;
}

bool isMapped(std::uint64_t address, std::size_t bytes) {
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  return mincore(reinterpret_cast<void*>(address), bytes, resident.data()) == 0;
}

std::uint64_t pinned() {
  std::uint64_t sum = 0;
  for(const Registration& one : state().registrations)
    sum += one.address && !(one.access & IBV_ACCESS_ON_DEMAND) ? one.bytes : 0;
  return sum;
}

/// What the kernel asks of every registration.
int checkCommon(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, unsigned access,
                unsigned allowed) {
  State& s = state();
  if(pd != &s.domains[0] && pd != &s.domains[1]) {
    s.violations.emplace_back("a domain that is none");
    return EINVAL;
  }
  if(bytes == 0 || (offset - iova) % page != 0 || (access & ~allowed) != 0 ||
     (s.nic.maxMrSize && bytes > s.nic.maxMrSize))
    return EINVAL;
  const unsigned writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return (access & writes) && !(access & IBV_ACCESS_LOCAL_WRITE) ? EINVAL : 0;
}

int checkPages(std::uint64_t address, std::size_t bytes, unsigned access) {
  const Nic& nic = state().nic;
  if(access & IBV_ACCESS_ON_DEMAND)
    return nic.onDemandErrno ? nic.onDemandErrno : isDevice(address, bytes) ? EFAULT : 0;
  if(isDevice(address, bytes))
    return nic.peerMemory ? 0 : EFAULT;
  if(nic.memlock && pinned() + bytes > *nic.memlock)
    return ENOMEM;
  return isMapped(address, bytes) ? 0 : EFAULT;
}

/// A memfd is what the software CUDA device exports for a dma-buf.
int checkDmaBuf(int fd, std::uint64_t offset, std::size_t bytes, ino_t& node) {
  struct stat facts {};
  if(fstat(fd, &facts) != 0)
    return EBADF;
  if(fcntl(fd, F_GET_SEALS) < 0)
    return EINVAL; // no memfd, and so no dma-buf here
  node = facts.st_ino;
  return offset + bytes > static_cast<std::uint64_t>(facts.st_size) ? EINVAL : 0;
}

/// Null where that cannot be done.
std::byte* mapDmaBuf(int fd, std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t into = offset % page;
  void* mapped =
      mmap(nullptr, bytes + into, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset - into));
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped) + into;
}

void unmapDmaBuf(const Registration& one) {
  if(one.dmaBuf && one.reached)
    munmap(one.reached - one.offset % page, one.bytes + one.offset % page);
}

/// The bytes that a key gives access to at an address; null where it does not.
std::byte* reach(std::uint32_t ibv_mr::*key, std::uint32_t value, std::uint64_t address, std::size_t bytes,
                 unsigned access) {
  const State& s = state();
  for(std::size_t i = 0; i < s.regions.size(); ++i) {
    const Registration& one = s.registrations[i];
    const bool within = address >= one.iova && address + bytes <= one.iova + one.bytes;
    if((*s.regions[i]).*key == value && within && (one.access & access) == access && one.reached)
      return one.reached + (address - one.iova);
  }
  return nullptr;
}

ibv_qp* pairNumbered(std::uint32_t number) {
  for(const auto& pair : state().pairs) {
    if(pair->qp_num == number)
      return pair.get();
  }
  return nullptr;
}

ibv_wc_status transfer(const ibv_qp& sender, const ibv_send_wr& request) {
  const bool isWrite = request.opcode == IBV_WR_RDMA_WRITE;
  const ibv_sge& own = request.sg_list[0];
  const ibv_qp* target = pairNumbered(state().connections[sender.qp_num]);
  if(sender.state == IBV_QPS_ERR)
    return IBV_WC_WR_FLUSH_ERR;
  if(!target || (target->state != IBV_QPS_RTR && target->state != IBV_QPS_RTS) ||
     state().connections[target->qp_num] != sender.qp_num)
    return IBV_WC_RETRY_EXC_ERR;
  std::byte* local =
      reach(&ibv_mr::lkey, own.lkey, own.addr, own.length, isWrite ? 0U : unsigned{IBV_ACCESS_LOCAL_WRITE});
  if(!local)
    return IBV_WC_LOC_PROT_ERR;
  std::byte* remote = reach(&ibv_mr::rkey, request.wr.rdma.rkey, request.wr.rdma.remote_addr, own.length,
                            isWrite ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ);
  if(!remote)
    return IBV_WC_REM_ACCESS_ERR;
  if(!isWrite && !state().nic.readsArrive)
    return IBV_WC_REM_OP_ERR;
  if(!state().nic.bytesMove)
    return IBV_WC_SUCCESS;
  std::memcpy(isWrite ? remote : local, isWrite ? local : remote, own.length);
  return IBV_WC_SUCCESS;
}

int postSend(ibv_qp* sender, ibv_send_wr* request, ibv_send_wr** bad) {
  const std::lock_guard lock{state().mutex};
  *bad = request;
  if(const int code = enter("ibv_post_send"))
    return code;
  if(sender->state != IBV_QPS_RTS && sender->state != IBV_QPS_ERR)
    return EINVAL;
  const ibv_wc_status status = transfer(*sender, *request);
  if(status != IBV_WC_SUCCESS)
    sender->state = IBV_QPS_ERR;
  ibv_wc completion{};
  completion.status = status;
  completion.wr_id = request->wr_id;
  state().completions.push_back(completion);
  return 0;
}

int pollQueue(ibv_cq*, int, ibv_wc* completion) {
  const std::lock_guard lock{state().mutex};
  if(enter("ibv_poll_cq"))
    return -1;
  if(state().completions.empty())
    return 0;
  *completion = state().completions.front();
  state().completions.erase(state().completions.begin());
  return 1;
}

ibv_mr* add(Registration registration, void* address) {
  State& s = state();
  auto region = std::make_unique<ibv_mr>();
  *region = {.context = registration.domain->context,
             .pd = registration.domain,
             .addr = address,
             .length = registration.bytes,
             .handle = s.nextKey,
             .lkey = s.nextKey,
             .rkey = s.nextKey + 0x10000};
  ++s.nextKey;
  s.registrations.push_back(std::move(registration));
  s.regions.push_back(std::move(region));
  return s.regions.back().get();
}

ibv_mr* registerPages(const char* call, ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t iova,
                      unsigned access) {
  State& s = state();
  const std::lock_guard lock{s.mutex};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  int code = enter(call);
  if(!code)
    code = checkCommon(pd, at, bytes, iova, access, pageAccess);
  if(!code)
    code = checkPages(at, bytes, access);
  if(code)
    return fail(code);
  return add({.call = call,
              .domain = pd,
              .address = at,
              .iova = iova,
              .bytes = bytes,
              .access = access,
              .reached = isDevice(at, bytes) ? nullptr : static_cast<std::byte*>(address)},
             address);
}

ibv_mr* registerDmaBuf(const char* call, int refusal, ibv_pd* pd, std::uint64_t offset, std::size_t bytes,
                       std::uint64_t iova, int fd, int access) {
  State& s = state();
  const std::lock_guard lock{s.mutex};
  const auto bits = static_cast<unsigned>(access);
  ino_t node{};
  int code = enter(call);
  if(!code)
    code = refusal; // before the descriptor is looked at
  if(!code)
    code = checkCommon(pd, offset, bytes, iova, bits, dmaBufAccess);
  if(!code)
    code = checkDmaBuf(fd, offset, bytes, node);
  if(code)
    return fail(code);
  return add({.call = call,
              .domain = pd,
              .offset = offset,
              .iova = iova,
              .bytes = bytes,
              .access = bits,
              .dmaBuf = node,
              .reached = mapDmaBuf(fd, offset, bytes)},
             reinterpret_cast<void*>(offset)); // as rdma-core does
}

} // namespace

void reset(const Nic& nic) {
  State& s = state();
  s.nic = nic;
  s.context.device = &s.device;
  for(ibv_pd& pd : s.domains)
    pd.context = &s.context;
  s.regions.clear();
  s.registrations.clear();
  s.devices.clear();
  s.watched.clear();
  s.failures.clear();
  s.counts.clear();
  s.violations.clear();
  s.queues.clear();
  s.pairs.clear();
  s.completions.clear();
  s.lists = s.opened = s.allocated = 0;
  s.context.ops.post_send = &postSend;
  s.context.ops.poll_cq = &pollQueue;
  s.device.transport_type = nic.iWarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  std::strcpy(s.device.name, "nic0");
  std::strncpy(s.device.ibdev_path, nic.node.c_str(), sizeof s.device.ibdev_path - 1);
}

ibv_pd* domain() { return &state().domains[0]; }
ibv_pd* otherDomain() { return &state().domains[1]; }
std::size_t liveQueues() { return state().queues.size() + state().pairs.size(); }
std::size_t liveDevices() { return state().lists + state().opened + state().allocated; }
const std::vector<Registration>& live() { return state().registrations; }
void deviceMemory(std::uint64_t address, std::size_t bytes) { state().devices[address] = bytes; }
void watch(std::weak_ptr<const void> memory) { state().watched.push_back(std::move(memory)); }
void failNext(std::string call, int code) { state().failures[std::move(call)] = code; }
int calls(const std::string& name) { return state().counts[name]; }
const std::vector<std::string>& violations() { return state().violations; }

} // namespace rdmagpu::nictest

// The names of libibverbs: what is linked into the program comes before any shared library.

using namespace rdmagpu::nictest;

extern "C" {

#define RDMAGPU_CALLED_BY_STANDIN __attribute__((visibility("default")))
RDMAGPU_CALLED_BY_STANDIN int rdmagpu_standin_cm_enter(const char* call);
RDMAGPU_CALLED_BY_STANDIN ibv_context* rdmagpu_standin_cm_context();
RDMAGPU_CALLED_BY_STANDIN void rdmagpu_standin_cm_connect(std::uint32_t one, std::uint32_t other);

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  return registerPages("ibv_reg_mr", pd, address, bytes, reinterpret_cast<std::uintptr_t>(address),
                       static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t iova, unsigned access) {
  return registerPages("ibv_reg_mr_iova2", pd, address, bytes, iova, access);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                          int access) {
  return registerDmaBuf("ibv_reg_dmabuf_mr", state().nic.dmaBufErrno, pd, offset, bytes, iova, fd, access);
}

/// What mlx5_standin.cpp, the libmlx5.so.1 of these tests, calls.
__attribute__((visibility("default"))) ibv_mr*
rdmagpu_standin_reg_data_direct(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                                int fd, int access, int mlx5Access) {
  const int refusal = mlx5Access == 1 ? state().nic.dataDirectErrno : EINVAL;
  return registerDmaBuf("mlx5dv_reg_dmabuf_mr", refusal, pd, offset, bytes, iova, fd, access);
}

int ibv_dereg_mr(ibv_mr* region) {
  State& s = state();
  const std::lock_guard lock{s.mutex};
  const int code = enter("ibv_dereg_mr");
  if(code)
    return code;
  const auto found =
      std::find_if(s.regions.begin(), s.regions.end(), [&](const auto& one) { return one.get() == region; });
  if(found == s.regions.end()) {
    s.violations.emplace_back("deregistered what is not registered");
    return EINVAL;
  }
  const auto record = s.registrations.begin() + (found - s.regions.begin());
  for(const auto& memory : s.watched) {
    if(memory.expired())
      s.violations.emplace_back("deregistered after the memory was freed");
  }
  if(record->address && !isDevice(record->address, record->bytes) &&
     !isMapped(record->address, record->bytes))
    s.violations.emplace_back("deregistered after the pages were unmapped");
  unmapDmaBuf(*record);
  s.registrations.erase(record);
  s.regions.erase(found);
  return 0;
}

#undef ibv_get_device_list

ibv_device** ibv_get_device_list(int* count) {
  if((errno = enter("ibv_get_device_list")))
    return nullptr;
  ++state().lists;
  *count = state().nic.there ? 1 : 0;
  return new ibv_device* [2] { state().nic.there ? &state().device : nullptr, nullptr };
}

void ibv_free_device_list(ibv_device** list) {
  --state().lists;
  delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device*) {
  if((errno = enter("ibv_open_device")))
    return nullptr;
  ++state().opened;
  return &state().context;
}

int ibv_close_device(ibv_context*) {
  if(state().allocated != 0)
    state().violations.emplace_back("closed a device whose domain is there");
  --state().opened;
  errno = enter("ibv_close_device");
  return errno ? -1 : 0;
}

ibv_pd* ibv_alloc_pd(ibv_context*) {
  if((errno = enter("ibv_alloc_pd")))
    return nullptr;
  ++state().allocated;
  return &state().domains[0];
}

int ibv_dealloc_pd(ibv_pd*) {
  if(!state().regions.empty() || !state().pairs.empty())
    state().violations.emplace_back("freed a domain that is used");
  --state().allocated;
  return enter("ibv_dealloc_pd");
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  State& s = state();
  const std::lock_guard lock{s.mutex};
  if(context != &s.context)
    s.violations.emplace_back("a context that is none");
  *attributes = {};
  attributes->max_mr_size = s.nic.maxMrSize;
  return enter("ibv_query_device");
}

#undef ibv_query_port

int ibv_query_port(ibv_context*, std::uint8_t port, _compat_ibv_port_attr* compatible) {
  const std::lock_guard lock{state().mutex};
  auto* attributes = reinterpret_cast<ibv_port_attr*>(compatible); // as verbs.h passes it
  if(port != 1)
    return EINVAL;
  attributes->state = state().nic.portUp ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes->link_layer = state().nic.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  attributes->active_mtu = IBV_MTU_1024;
  attributes->max_msg_sz = 0x10000;
  attributes->gid_tbl_len = 2;
  attributes->lid = 7;
  return enter("ibv_query_port");
}

int _ibv_query_gid_ex(ibv_context*, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry, std::uint32_t,
                      std::size_t) {
  const std::lock_guard lock{state().mutex};
  if(index > 1)
    return ENODATA;
  entry->gid.raw[15] = static_cast<std::uint8_t>(index);
  entry->gid_type = index == 1 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
  return enter("ibv_query_gid_ex");
}

ibv_cq* ibv_create_cq(ibv_context* context, int, void*, ibv_comp_channel*, int) {
  const std::lock_guard lock{state().mutex};
  if((errno = enter("ibv_create_cq")))
    return nullptr;
  state().queues.push_back(std::make_unique<ibv_cq>());
  state().queues.back()->context = context;
  return state().queues.back().get();
}

int ibv_destroy_cq(ibv_cq* queue) {
  const std::lock_guard lock{state().mutex};
  for(const auto& pair : state().pairs) {
    if(pair->send_cq == queue)
      state().violations.emplace_back("destroyed a queue that a pair uses");
  }
  return static_cast<int>(std::erase_if(state().queues, [&](const auto& one) { return one.get() == queue; }) -
                          1);
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  const std::lock_guard lock{state().mutex};
  if((errno = enter("ibv_create_qp")))
    return nullptr;
  auto pair = std::make_unique<ibv_qp>();
  pair->context = pd->context;
  pair->send_cq = wanted->send_cq;
  pair->qp_num = state().nextKey++;
  state().pairs.push_back(std::move(pair));
  return state().pairs.back().get();
}

int ibv_destroy_qp(ibv_qp* pair) {
  const std::lock_guard lock{state().mutex};
  return static_cast<int>(std::erase_if(state().pairs, [&](const auto& one) { return one.get() == pair; }) -
                          1);
}

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* wanted, int mask) {
  const std::lock_guard lock{state().mutex};
  const ibv_qp_attr& w = *wanted;
  const bool inOrder = (w.qp_state == IBV_QPS_INIT && pair->state == IBV_QPS_RESET) ||
                       (w.qp_state == IBV_QPS_RTR && pair->state == IBV_QPS_INIT) ||
                       (w.qp_state == IBV_QPS_RTS && pair->state == IBV_QPS_RTR);
  if(!inOrder || !(mask & IBV_QP_STATE))
    return EINVAL;
  if(w.qp_state == IBV_QPS_RTR) {
    const bool global =
        w.ah_attr.is_global && w.ah_attr.grh.dgid.raw[15] == 1 && w.ah_attr.grh.sgid_index == 1;
    if(state().nic.ethernet ? !global : w.ah_attr.dlid != 7)
      return EINVAL;
    state().connections[pair->qp_num] = w.dest_qp_num;
  }
  if(const int code = enter("ibv_modify_qp"))
    return code;
  pair->state = w.qp_state;
  return 0;
}

/// For the stand-in of librdmacm.
int rdmagpu_standin_cm_enter(const char* call) {
  const std::lock_guard lock{state().mutex};
  return enter(call);
}
ibv_context* rdmagpu_standin_cm_context() { return &state().context; }
void rdmagpu_standin_cm_connect(std::uint32_t one, std::uint32_t other) {
  const std::lock_guard lock{state().mutex};
  for(const auto& [pair, of] : {std::pair{one, other}, std::pair{other, one}}) {
    state().connections[pair] = of;
    pairNumbered(pair)->state = IBV_QPS_RTS;
  }
}

ibv_fork_status ibv_is_fork_initialized() { return static_cast<ibv_fork_status>(state().nic.fork); }

} // extern "C"
