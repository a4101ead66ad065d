#include "nic_standin.hpp"

#include <infiniband/verbs.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
  return add({.call = call, .domain = pd, .address = at, .iova = iova, .bytes = bytes, .access = access},
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
              .dmaBuf = node},
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
}

ibv_pd* domain() { return &state().domains[0]; }
ibv_pd* otherDomain() { return &state().domains[1]; }
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
  s.registrations.erase(record);
  s.regions.erase(found);
  return 0;
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

ibv_fork_status ibv_is_fork_initialized() { return static_cast<ibv_fork_status>(state().nic.fork); }

} // extern "C"
