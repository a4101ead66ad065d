#include <cuda/standin.hpp>

#include <sys/mman.h>
#include <unistd.h>

using namespace rdmagpu::standin::cuda;

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

Status freePlain(const char* call, DevicePtr address, Status outcome) {
  if(address == 0)
    return outcome;
  const auto it = state().plain.find(address);
  if(it == state().plain.end())
    return misuse(call, "not what was allocated, or freed already");
  if(deviceMemoryIsInUse(address, it->second.bytes))
    return misuse(call, "a copy is under way there");
  release(it);
  return outcome;
}

} // namespace

Status takePlain(DevicePtr* address, std::size_t bytes, PlainKind kind) {
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
  *address = kind == PlainKind::Alloc && bytes < smallBytes ? aligned + smallOffset : aligned;
  state().plain.emplace(*address, Plain{.kind = kind,
                                        .device = deviceOf(current()),
                                        .syncMemops = kind == PlainKind::Managed,
                                        .bytes = bytes,
                                        .block = block,
                                        .blockBytes = blockBytes,
                                        .owner = kind == PlainKind::Pool ? nullptr : current()});
  state().used += bytes;
  return Status::Success;
}

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
  return call.refused() ? call.refusal() : takePlain(address, bytes, PlainKind::Alloc);
}

RDMAGPU_STANDIN_API Status cuMemAllocManaged(DevicePtr* address, std::size_t bytes, unsigned flags) {
  const Call call{"cuMemAllocManaged"};
  if(call.refused())
    return call.refusal();
  constexpr unsigned toAll = 1;
  constexpr unsigned toHost = 2;
  return flags == toAll || flags == toHost ? takePlain(address, bytes, PlainKind::Managed)
                                           : Status::InvalidValue;
}

RDMAGPU_STANDIN_API Status cuMemAllocAsync(DevicePtr* address, std::size_t bytes, Stream stream) {
  const Call call{"cuMemAllocAsync"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkStream(stream); status != Status::Success)
    return status;
  return takePlain(address, bytes, PlainKind::Pool); // at once, which is as good as in the stream's order
}

RDMAGPU_STANDIN_API Status cuMemFreeAsync(DevicePtr address, Stream stream) {
  const Call call{"cuMemFreeAsync"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkStream(stream); status != Status::Success)
    return status;
  finishWork(stream);
  return freePlain("cuMemFreeAsync", address, call.outcome());
}

RDMAGPU_STANDIN_API Status cuMemFree_v2(DevicePtr address) {
  const Call call{"cuMemFree_v2"};
  if(call.refused())
    return call.refusal();
  if(checkContext() == Status::ContextIsDestroyed) // none is needed, but this
    return Status::ContextIsDestroyed;
  return freePlain("cuMemFree_v2", address, call.outcome());
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
  const Plain* const plain = plainOf(address);
  if(type != RangeHandleType::DmaBufFd || !isMemory(address, bytes, noAccess) ||
     (plain && plain->kind == PlainKind::Managed))
    return Status::InvalidValue;
  const int device = plain ? plain->device : mappingOf(address)->memory->prop.location.id;
  if(gpu(device).dmaBuf != 1 || (flags == dmaBufMappingTypePcie && !gpu(device).pcieMapping))
    return Status::NotSupported;
  // Of the exact size, as the driver's is. The bytes are not there: the driver's cannot be mapped either.
  const int fd = memfd_create("rdmagpu-standin-dmabuf", MFD_CLOEXEC);
  if(fd < 0 || ftruncate(fd, static_cast<off_t>(bytes) + state().exportsMore) != 0)
    return Status::OutOfMemory;
  *static_cast<int*>(handle) = fd;
  return Status::Success;
}

/// By how many bytes the dma-bufs that are exported from now on are larger than what was asked for.
RDMAGPU_STANDIN_API void rdmagpu_standin_cuda_exports_more(long bytes) {
  const std::lock_guard lock{state().mutex};
  state().exportsMore = bytes;
}
