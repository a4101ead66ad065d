#include <cuda/standin.hpp>

#include <sys/mman.h>

#include <algorithm>

namespace rdmagpu::standin::cuda {
namespace {

using Entry = std::map<std::uintptr_t, Registered>::iterator;

Entry forget(Entry it) {
  if(it->second.allocated)
    munmap(reinterpret_cast<void*>(it->first), it->second.bytes);
  return state().registered.erase(it);
}

/// Gives back what one of the two kinds of call has pinned.
Status giveBack(const char* call, void* host, bool allocated, Status absent, Status outcome) {
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  const auto it = state().registered.find(number(host));
  if(it == state().registered.end() || it->second.allocated != allocated)
    return absent;
  if(hostMemoryIsInUse(it->first, it->second.bytes))
    return misuse(call, "a copy is under way there");
  forget(it);
  return outcome;
}

} // namespace

const Registered* registeredOf(std::uintptr_t address, std::uintptr_t* start) {
  auto it = state().registered.upper_bound(address);
  if(it == state().registered.begin())
    return nullptr;
  --it;
  if(start)
    *start = it->first;
  return address < it->first + it->second.bytes ? &it->second : nullptr;
}

void forgetRegistrationsOf(Context context) {
  auto& all = state().registered;
  for(auto it = all.begin(); it != all.end();)
    it = it->second.context == context ? forget(it) : std::next(it);
}

} // namespace rdmagpu::standin::cuda

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::HostAllocFlags;
using rdmagpu::driver::cuda::HostRegisterFlags;

RDMAGPU_STANDIN_API Status cuMemHostRegister_v2(void* host, std::size_t bytes, HostRegisterFlags flags) {
  const Call call{"cuMemHostRegister_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(!host || bytes == 0 || static_cast<unsigned>(flags) > static_cast<unsigned>(HostRegisterFlags::Portable))
    return Status::InvalidValue;
  const auto& all = state().registered;
  const bool taken = std::any_of(all.begin(), all.end(), [&](const auto& entry) {
    return overlaps(entry.first, entry.second.bytes, number(host), bytes);
  });
  if(taken)
    return Status::HostMemoryAlreadyRegistered;
  state().registered.emplace(number(host), Registered{.bytes = bytes, .context = current()});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemHostUnregister(void* host) {
  const Call call{"cuMemHostUnregister"};
  if(call.refused())
    return call.refusal();
  return giveBack("cuMemHostUnregister", host, false, Status::HostMemoryNotRegistered, call.outcome());
}

RDMAGPU_STANDIN_API Status cuMemHostAlloc(void** host, std::size_t bytes, HostAllocFlags flags) {
  const Call call{"cuMemHostAlloc"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  constexpr unsigned known = 7; // portable, mapped, write-combined
  if(!host || bytes == 0 || static_cast<unsigned>(flags) > known)
    return Status::InvalidValue;
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if(made == MAP_FAILED)
    return Status::OutOfMemory;
  state().registered.emplace(number(made),
                             Registered{.bytes = bytes, .context = current(), .allocated = true});
  *host = made;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemFreeHost(void* host) {
  const Call call{"cuMemFreeHost"};
  if(call.refused())
    return call.refusal();
  return giveBack("cuMemFreeHost", host, true, Status::InvalidValue, call.outcome());
}

/// With unified addresses, which every system has that rdmagpu runs on, it is the host's own address.
RDMAGPU_STANDIN_API Status cuMemHostGetDevicePointer_v2(DevicePtr* device, void* host, unsigned flags) {
  const Call call{"cuMemHostGetDevicePointer_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  if(!device || flags != 0 || !registeredOf(number(host)))
    return Status::InvalidValue;
  *device = devicePtr(host);
  return Status::Success;
}
