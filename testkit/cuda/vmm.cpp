#include <cuda/standin.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::Granularity;

namespace rdmagpu::standin::cuda {

Physical::~Physical() {
  if(fd < 0)
    return;
  close(fd);
  state().used -= bytes;
}

namespace {

/// What the driver says of properties that it is to make memory with. Unknown types of handles and uses pass.
Status check(const AllocationProp& prop) {
  constexpr unsigned ofOtherSystems = 0xE;
  constexpr std::uint8_t genericCompression = 1;
  if(prop.type != AllocationType::Pinned || prop.location.type != LocationType::Device ||
     (static_cast<unsigned>(prop.requestedHandleTypes) & ofOtherSystems) != 0 || prop.win32HandleMetaData ||
     prop.allocFlags.compressionType > genericCompression)
    return Status::InvalidValue;
  return isDevice(static_cast<Device>(prop.location.id)) ? Status::Success : Status::InvalidDevice;
}

/// The name of the memfd carries the properties to a process that imports it.
constexpr const char* nameFormat = "rdmagpu-standin-cuda-%d-%d";

std::shared_ptr<Physical> make(const AllocationProp& prop, std::size_t bytes) {
  char name[64];
  std::snprintf(name, sizeof name, nameFormat, prop.location.id, prop.allocFlags.gpuDirectRdmaCapable);
  auto memory = std::make_shared<Physical>();
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if(fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    return nullptr;
  memory->fd = fd;
  memory->bytes = bytes;
  memory->prop = prop;
  // What the driver does not know it does not keep.
  memory->prop.allocFlags.usage = 0;
  if(prop.requestedHandleTypes != HandleType::PosixFileDescriptor)
    memory->prop.requestedHandleTypes = HandleType::None;
  state().used += bytes;
  return memory;
}

std::shared_ptr<Physical> adopt(int fd) {
  char link[64];
  char target[128]{};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  AllocationProp prop; // of the handle types and flags that it was made with nothing is left
  int capable{};
  struct stat status {};
  const bool known =
      readlink(link, target, sizeof target - 1) > 0 && fstat(fd, &status) == 0 &&
      std::sscanf(target, "/memfd:rdmagpu-standin-cuda-%d-%d", &prop.location.id, &capable) == 2;
  if(!known)
    return nullptr;
  auto memory = std::make_shared<Physical>();
  memory->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  memory->bytes = static_cast<std::size_t>(status.st_size);
  memory->prop = prop;
  memory->imported = true;
  state().used += memory->bytes;
  return memory;
}

MemHandle insert(std::shared_ptr<Physical> memory) {
  const std::uint64_t handle = ++state().lastHandle;
  state().handles.emplace(handle, std::move(memory));
  return static_cast<MemHandle>(handle);
}

Physical* find(MemHandle handle) {
  const auto it = state().handles.find(static_cast<std::uint64_t>(handle));
  return it == state().handles.end() ? nullptr : it->second.get();
}

constexpr auto ofWindows = static_cast<HandleType>(2);

bool isReserved(DevicePtr address, std::size_t bytes) {
  auto it = state().reservations.upper_bound(address);
  if(it == state().reservations.begin())
    return false;
  --it;
  const std::size_t skipped = address - it->first;
  return skipped <= it->second && bytes <= it->second - skipped;
}

using MappingEntry = std::map<DevicePtr, Mapping>::iterator;

/// The mappings that lie wholly in the range.
std::vector<MappingEntry> wholeMappings(DevicePtr address, std::size_t bytes) {
  std::vector<MappingEntry> found;
  auto& all = state().mappings;
  for(auto it = all.lower_bound(address); it != all.end() && it->first < address + bytes; ++it) {
    if(it->first + it->second.bytes <= address + bytes)
      found.push_back(it);
  }
  return found;
}

/// Whether a mapping lies in the range with a part of it only.
bool cutsMapping(DevicePtr address, std::size_t bytes) {
  DevicePtr start{};
  if(mappingOf(address, &start) && start != address)
    return true;
  return mappingOf(address + bytes - 1, &start) &&
         (start < address || start + state().mappings.at(start).bytes > address + bytes);
}

/// What mprotect takes; -1 for what is no access.
int protectionOf(AccessFlags access) {
  if(access == noAccess)
    return PROT_NONE;
  if(access == readOnly)
    return PROT_READ;
  return access == AccessFlags::ReadWrite ? PROT_READ | PROT_WRITE : -1;
}

bool overlapsMapping(DevicePtr address, std::size_t bytes) {
  const auto next = state().mappings.lower_bound(address);
  return mappingOf(address) || (next != state().mappings.end() && next->first < address + bytes);
}

/// Whether the same memory, and accessible, follows the range in its reservation.
bool precedesItself(DevicePtr address, const Physical& memory) {
  const auto next = state().mappings.find(address + memory.bytes);
  return next != state().mappings.end() && isReserved(address, memory.bytes + granularity) &&
         next->second.memory.get() == &memory && next->second.access != noAccess;
}

} // namespace

const Mapping* mappingOf(DevicePtr address, DevicePtr* start) {
  auto it = state().mappings.upper_bound(address);
  if(it == state().mappings.begin())
    return nullptr;
  --it;
  if(start)
    *start = it->first;
  return address < it->first + it->second.bytes ? &it->second : nullptr;
}

bool isMapped(DevicePtr address, std::size_t bytes, AccessFlags wanted) {
  if(!isReserved(address, bytes))
    return false;
  const auto flags = static_cast<unsigned>(wanted);
  const DevicePtr end = address + bytes;
  while(address < end) {
    DevicePtr start{};
    const Mapping* const mapping = mappingOf(address, &start);
    if(!mapping || (static_cast<unsigned>(mapping->access) & flags) != flags)
      return false;
    address = start + mapping->bytes;
  }
  return true;
}

void freeAllMapped() {
  for(const auto& [address, bytes] : state().reservations)
    munmap(hostView(address), bytes);
  state().reservations.clear();
  state().mappings.clear();
  state().handles.clear();
}

} // namespace rdmagpu::standin::cuda

RDMAGPU_STANDIN_API Status cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProp* prop,
                                                         Granularity option) {
  const Call call{"cuMemGetAllocationGranularity"};
  if(call.refused())
    return call.refusal();
  if(state().profile->vmm != 1)
    return Status::NotSupported;
  if(!bytes || !prop || static_cast<unsigned>(option) > 1)
    return Status::InvalidValue;
  *bytes = granularity; // whatever the properties are
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemCreate(MemHandle* handle, std::size_t bytes, const AllocationProp* prop,
                                       unsigned long long flags) {
  const Call call{"cuMemCreate"};
  if(call.refused())
    return call.refusal();
  if(state().profile->vmm != 1)
    return Status::NotSupported;
  if(!handle || !prop || bytes == 0 || bytes % granularity != 0 || flags != 0)
    return Status::InvalidValue;
  if(const Status status = check(*prop); status != Status::Success)
    return status;
  if(prop->requestedHandleTypes == HandleType::PosixFileDescriptor && !gpu(prop->location.id).posixFd)
    return Status::NotSupported;
  if(bytes > state().profile->memory - state().used)
    return Status::OutOfMemory;
  auto memory = make(*prop, bytes);
  if(!memory)
    return Status::OutOfMemory;
  *handle = insert(std::move(memory));
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemRelease(MemHandle handle) {
  const Call call{"cuMemRelease"};
  if(call.refused())
    return call.refusal();
  if(!find(handle))
    return misuse("cuMemRelease", "a handle that is not, or no longer, there");
  state().handles.erase(static_cast<std::uint64_t>(handle));
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuMemAddressReserve(DevicePtr* address, std::size_t bytes, std::size_t alignment,
                                               DevicePtr, unsigned long long flags) {
  const Call call{"cuMemAddressReserve"};
  if(call.refused())
    return call.refusal();
  if(state().profile->vmm != 1)
    return Status::NotSupported;
  if(!address || bytes == 0 || bytes % granularity != 0 || (alignment & (alignment - 1)) != 0 || flags != 0)
    return Status::InvalidValue;
  const std::size_t grain = alignment > granularity ? alignment : granularity;
  void* const block =
      mmap(nullptr, bytes + grain, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if(block == MAP_FAILED)
    return Status::OutOfMemory;
  const DevicePtr start = devicePtr(block);
  const DevicePtr aligned = (start + grain - 1) / grain * grain;
  if(aligned > start)
    munmap(block, aligned - start);
  if(aligned + bytes < start + bytes + grain)
    munmap(hostView(aligned + bytes), start + grain - aligned);
  state().reservations.emplace(aligned, bytes);
  *address = aligned;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemAddressFree(DevicePtr address, std::size_t bytes) {
  const Call call{"cuMemAddressFree"};
  if(call.refused())
    return call.refusal();
  const auto it = state().reservations.find(address);
  if(it == state().reservations.end() || it->second != bytes)
    return misuse("cuMemAddressFree", "not what was reserved");
  if(overlapsMapping(address, bytes))
    return misuse("cuMemAddressFree", "something is still mapped there");
  munmap(hostView(address), bytes);
  state().reservations.erase(it);
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuMemMap(DevicePtr address, std::size_t bytes, std::size_t offset,
                                    MemHandle handle, unsigned long long flags) {
  const Call call{"cuMemMap"};
  if(call.refused())
    return call.refusal();
  const Physical* memory = find(handle);
  if(!memory || flags != 0 || bytes == 0 || address % granularity != 0)
    return Status::InvalidValue;
  if(offset != 0 || bytes != memory->bytes)
    return Status::NotSupported;
  if(!isReserved(address, bytes) || overlapsMapping(address, bytes))
    return Status::InvalidValue;
  if(precedesItself(address, *memory)) // as it was measured; behind itself it can be mapped
    return Status::Unknown;
  void* const at = mmap(hostView(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd, 0);
  if(at == MAP_FAILED)
    return Status::OutOfMemory;
  state().mappings.emplace(address, Mapping{bytes, state().handles.at(static_cast<std::uint64_t>(handle))});
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemSetAccess(DevicePtr address, std::size_t bytes, const AccessDesc* access,
                                          std::size_t count) {
  const Call call{"cuMemSetAccess"};
  if(call.refused())
    return call.refusal();
  const auto parts = wholeMappings(address, bytes);
  std::size_t covered = 0;
  for(const auto& part : parts)
    covered += part->second.bytes;
  if(bytes == 0 || covered != bytes || count == 0)
    return Status::InvalidValue;
  for(std::size_t i = 0; i < count; ++i) {
    if(protectionOf(access[i].flags) < 0 || access[i].location.type != LocationType::Device ||
       !isDevice(static_cast<Device>(access[i].location.id)))
      return Status::InvalidValue;
  }
  for(const auto& part : parts) {
    for(std::size_t i = 0; i < count; ++i) {
      if(access[i].location != part->second.memory->prop.location) {
        part->second.ofOthers[access[i].location.id] = access[i].flags;
        continue;
      }
      part->second.access = access[i].flags;
      if(mprotect(hostView(part->first), part->second.bytes, protectionOf(access[i].flags)) != 0)
        return Status::OutOfMemory;
    }
  }
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemGetAccess(unsigned long long* flags, const Location* location,
                                          DevicePtr address) {
  const Call call{"cuMemGetAccess"};
  if(call.refused())
    return call.refusal();
  const Mapping* const mapping = mappingOf(address);
  if(!flags || !location || !mapping || location->type != LocationType::Device)
    return Status::InvalidValue;
  if(!isDevice(static_cast<Device>(location->id)))
    return Status::InvalidDevice;
  const bool own = *location == mapping->memory->prop.location;
  *flags = static_cast<unsigned>(own ? mapping->access : mapping->ofOthers[location->id]);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemUnmap(DevicePtr address, std::size_t bytes) {
  const Call call{"cuMemUnmap"};
  if(call.refused())
    return call.refusal();
  const auto parts = wholeMappings(address, bytes);
  if(bytes == 0 || bytes % granularity != 0 || !isReserved(address, bytes) || cutsMapping(address, bytes))
    return misuse("cuMemUnmap", "not whole mappings");
  if(parts.empty()) // the driver does not mind
    return misuse("cuMemUnmap", "nothing is mapped there", Status::Success);
  if(deviceMemoryIsInUse(address, bytes))
    return misuse("cuMemUnmap", "a copy is under way there");
  for(const auto& part : parts) {
    // In its place, so that the reservation stays whole.
    void* const hole = mmap(hostView(part->first), part->second.bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if(hole == MAP_FAILED)
      return Status::OutOfMemory;
    state().mappings.erase(part);
  }
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuMemExportToShareableHandle(void* out, MemHandle handle, HandleType type,
                                                        unsigned long long flags) {
  const Call call{"cuMemExportToShareableHandle"};
  if(call.refused())
    return call.refusal();
  const Physical* memory = find(handle);
  if(!memory || type != HandleType::PosixFileDescriptor || memory->prop.requestedHandleTypes != type ||
     flags != 0)
    return Status::InvalidValue;
  const int fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
  if(fd < 0)
    return Status::OutOfMemory;
  *static_cast<int*>(out) = fd;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemImportFromShareableHandle(MemHandle* handle, void* fd, HandleType type) {
  const Call call{"cuMemImportFromShareableHandle"};
  if(call.refused())
    return call.refusal();
  if(type != HandleType::PosixFileDescriptor)
    return type == ofWindows ? Status::NotSupported : Status::InvalidValue;
  auto memory = adopt(static_cast<int>(reinterpret_cast<std::intptr_t>(fd)));
  if(!memory) // as it is for any descriptor that is not of such memory, or not one
    return Status::Unknown;
  *handle = insert(std::move(memory));
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemGetAllocationPropertiesFromHandle(AllocationProp* prop, MemHandle handle) {
  const Call call{"cuMemGetAllocationPropertiesFromHandle"};
  if(call.refused())
    return call.refusal();
  const Physical* memory = find(handle);
  if(!memory)
    return Status::InvalidValue;
  *prop = memory->prop;
  return Status::Success;
}
