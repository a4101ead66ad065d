#include <cuda/standin.hpp>

#include <cstring>
#include <optional>

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::MemoryType;
using rdmagpu::driver::cuda::PointerAttribute;

namespace rdmagpu::standin::cuda {
namespace {

/// What the attributes tell of memory; each answer as an H200 gave it.
struct Known {
  MemoryType type{MemoryType::Device};
  Context context{};
  DevicePtr start{};
  std::size_t bytes{};
  std::size_t mappingBytes{};
  int device{};
  bool managed{};
  bool pool{};
  bool capable{};
  bool syncMemops{};
};

constexpr std::size_t poolBlockBytes = 32U << 20;

Known describe(const Mapping& mapping, DevicePtr start) {
  const AllocationProp& prop = mapping.memory->prop;
  const bool capable =
      prop.allocFlags.gpuDirectRdmaCapable && !mapping.memory->imported && gpu(prop.location.id).vmmIsCapable;
  return {.start = start,
          .bytes = mapping.bytes,
          .mappingBytes = mapping.bytes,
          .device = prop.location.id,
          .capable = capable};
}

Known describe(const Plain& plain, DevicePtr start) {
  const std::size_t block = plain.kind == PlainKind::Pool ? poolBlockBytes : granularity;
  return {.context = plain.owner,
          .start = start,
          .bytes = plain.bytes,
          .mappingBytes = (plain.bytes + block - 1) / block * block,
          .device = plain.device,
          .managed = plain.kind == PlainKind::Managed,
          .pool = plain.kind == PlainKind::Pool,
          .capable = plain.kind == PlainKind::Alloc && gpu(plain.device).rdma != 0 &&
                     gpu(plain.device).plainIsCapable,
          .syncMemops = plain.syncMemops};
}

Known describe(const Registered& pinned, std::uintptr_t start) {
  return {.type = MemoryType::Host,
          .context = pinned.context,
          .start = start,
          .bytes = pinned.bytes,
          .mappingBytes = pinned.bytes,
          .device = deviceOf(pinned.context)};
}

std::optional<Known> find(DevicePtr address) {
  DevicePtr start{};
  if(const Mapping* mapping = mappingOf(address, &start))
    return describe(*mapping, start);
  if(const Plain* plain = plainOf(address, &start))
    return describe(*plain, start);
  if(const Registered* pinned = registeredOf(address, &start))
    return describe(*pinned, start);
  return {};
}

template <class T>
Status give(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return Status::Success;
}

} // namespace
} // namespace rdmagpu::standin::cuda

RDMAGPU_STANDIN_API Status cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePtr address) {
  const Call call{"cuPointerGetAttribute"};
  if(call.refused())
    return call.refusal();
  const auto known = find(address);
  if(!value || !known)
    return Status::InvalidValue;
  switch(attribute) {
  case PointerAttribute::OwningContext:
    return give(value, known->context);
  case PointerAttribute::MemoryType:
    return give(value, known->type);
  case PointerAttribute::SyncMemops:
    return give<std::uint32_t>(value, known->syncMemops);
  case PointerAttribute::IsManaged:
    return give<std::uint32_t>(value, known->managed);
  case PointerAttribute::DeviceOrdinal:
    return give(value, known->device);
  case PointerAttribute::RangeStartAddr:
    return give(value, known->start);
  case PointerAttribute::RangeSize:
    return give(value, known->bytes);
  case PointerAttribute::IsGpuDirectRdmaCapable:
    return give<std::uint32_t>(value, known->capable);
  case PointerAttribute::MempoolHandle:
    return give<std::uint64_t>(value, known->pool);
  case PointerAttribute::MappingSize:
    return give(value, known->mappingBytes);
  }
  return Status::InvalidValue; // also for those that nothing here asks for
}

RDMAGPU_STANDIN_API Status cuPointerSetAttribute(const void* value, PointerAttribute attribute,
                                                 DevicePtr address) {
  const Call call{"cuPointerSetAttribute"};
  if(call.refused())
    return call.refusal();
  if(mappingOf(address))
    return Status::NotSupported;
  DevicePtr start{};
  if(!value || attribute != PointerAttribute::SyncMemops || !plainOf(address, &start))
    return Status::InvalidValue;
  std::uint32_t on{};
  std::memcpy(&on, value, sizeof on);
  state().plain.at(start).syncMemops = on != 0;
  return Status::Success;
}
