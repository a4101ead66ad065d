#include <cuda/standin.hpp>

#include <sys/mman.h>
#include <unistd.h>

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::PointerAttribute;

namespace rdmagpu::standin::cuda {
namespace {

/// The driver cuts small pieces out of larger blocks; where the first of them was seen to start.
constexpr std::size_t smallOffset = 0xE00;
constexpr std::size_t smallBytes = 1U << 20;

void release(std::map<DevicePtr, Plain>::iterator it) {
  munmap(it->second.block, it->second.blockBytes);
  state().used -= it->second.bytes;
  state().plain.erase(it);
}

} // namespace

const Plain* plainOf(DevicePtr address, DevicePtr* start) {
  auto it = state().plain.upper_bound(address);
  if(it == state().plain.begin())
    return nullptr;
  --it;
  if(start)
    *start = it->first;
  return address < it->first + it->second.bytes ? &it->second : nullptr;
}

bool isMemory(DevicePtr address, std::size_t bytes, AccessFlags wanted) {
  if(mappingOf(address))
    return isMapped(address, bytes, wanted);
  DevicePtr start{};
  if(const Plain* plain = plainOf(address, &start))
    return bytes <= start + plain->bytes - address;
  return false;
}

void freeOwnedBy(Context context) {
  auto& all = state().plain;
  for(auto it = all.begin(); it != all.end();) {
    const auto next = std::next(it);
    if(it->second.owner == context)
      release(it);
    it = next;
  }
}

void freeAllPlain() {
  while(!state().plain.empty())
    release(state().plain.begin());
}

} // namespace rdmagpu::standin::cuda

RDMAGPU_STANDIN_API Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const Call call{"cuMemGetInfo_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(!free || !total)
    return Status::InvalidValue;
  *total = state().profile->memory;
  *free = *total - state().used;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemAlloc_v2(DevicePtr* address, std::size_t bytes) {
  const Call call{"cuMemAlloc_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(!address || bytes == 0)
    return Status::InvalidValue;
  if(bytes > state().profile->memory - state().used)
    return Status::OutOfMemory;
  const std::size_t blockBytes = bytes + 2 * granularity;
  void* const block =
      mmap(nullptr, blockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if(block == MAP_FAILED)
    return Status::OutOfMemory;
  const DevicePtr aligned = (devicePtr(block) + granularity - 1) / granularity * granularity;
  *address = bytes < smallBytes ? aligned + smallOffset : aligned;
  state().plain.emplace(*address, Plain{bytes, block, blockBytes, current()});
  state().used += bytes;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemFree_v2(DevicePtr address) {
  const Call call{"cuMemFree_v2"};
  if(call.refused())
    return call.refusal();
  if(checkContext() == Status::ContextIsDestroyed) // none is needed, but this
    return Status::ContextIsDestroyed;
  if(address == 0)
    return call.outcome();
  const auto it = state().plain.find(address);
  if(it == state().plain.end())
    return misuse("cuMemFree_v2", "not what cuMemAlloc returned, or freed already");
  if(deviceMemoryIsInUse(address, it->second.bytes))
    return misuse("cuMemFree_v2", "a copy is under way there");
  release(it);
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePtr address) {
  const Call call{"cuPointerGetAttribute"};
  if(call.refused())
    return call.refusal();
  const Mapping* mapping = mappingOf(address);
  if(!value || attribute != PointerAttribute::IsGpuDirectRdmaCapable || (!mapping && !plainOf(address)))
    return Status::InvalidValue;
  const bool capable = mapping ? mapping->memory->prop.allocFlags.gpuDirectRdmaCapable &&
                                     !mapping->memory->imported && state().profile->vmmIsCapable
                               : state().profile->rdma != 0;
  *static_cast<int*>(value) = capable;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuPointerSetAttribute(const void*, PointerAttribute attribute, DevicePtr address) {
  const Call call{"cuPointerSetAttribute"};
  if(call.refused())
    return call.refusal();
  if(mappingOf(address))
    return Status::NotSupported;
  const bool good = attribute == PointerAttribute::SyncMemops && plainOf(address);
  return good ? Status::Success : Status::InvalidValue;
}

RDMAGPU_STANDIN_API Status cuMemGetHandleForAddressRange(void* handle, DevicePtr address, std::size_t bytes,
                                                         RangeHandleType type, unsigned long long flags) {
  const Call call{"cuMemGetHandleForAddressRange"};
  if(call.refused())
    return call.refusal();
  if(!handle || address == 0 || bytes == 0 || bytes % hostPage != 0 || address % hostPage != 0 || flags > 1)
    return Status::InvalidValue;
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(type != RangeHandleType::DmaBufFd || !isMemory(address, bytes, noAccess))
    return Status::InvalidValue;
  if(state().profile->dmaBuf != 1 || flags == 1)
    return Status::NotSupported;
  // Of the exact size, as the driver's is. The bytes are not there: the driver's cannot be mapped either.
  const int fd = memfd_create("rdmagpu-standin-dmabuf", MFD_CLOEXEC);
  if(fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    return Status::OutOfMemory;
  *static_cast<int*>(handle) = fd;
  return Status::Success;
}
