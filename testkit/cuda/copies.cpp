#include <cuda/standin.hpp>

#include <cstring>

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::AccessFlags;
using rdmagpu::driver::cuda::FlushScope;
using rdmagpu::driver::cuda::FlushTarget;

namespace {

Status checkCopy(DevicePtr address, std::size_t bytes, AccessFlags wanted) {
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  return bytes == 0 || isMemory(address, bytes, wanted) ? Status::Success : Status::InvalidValue;
}

} // namespace

RDMAGPU_STANDIN_API Status cuMemcpyHtoD_v2(DevicePtr to, const void* from, std::size_t bytes) {
  const Call call{"cuMemcpyHtoD_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(to, bytes, AccessFlags::ReadWrite); status != Status::Success)
    return status;
  if(bytes != 0) // of nothing the address may be anything
    std::memcpy(hostView(to), from, bytes);
  ++state().unfinished;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemcpyDtoH_v2(void* to, DevicePtr from, std::size_t bytes) {
  const Call call{"cuMemcpyDtoH_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(from, bytes, readOnly); status != Status::Success)
    return status;
  if(bytes != 0)
    std::memcpy(to, hostView(from), bytes);
  state().unfinished = 0; // it waits for what was before it
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemsetD8_v2(DevicePtr to, unsigned char value, std::size_t bytes) {
  const Call call{"cuMemsetD8_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(to, bytes, AccessFlags::ReadWrite); status != Status::Success)
    return status;
  if(bytes != 0)
    std::memset(hostView(to), value, bytes);
  ++state().unfinished;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuFlushGPUDirectRDMAWrites(FlushTarget target, FlushScope scope) {
  const Call call{"cuFlushGPUDirectRDMAWrites"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  const bool known = scope == FlushScope::ToOwner || scope == FlushScope::ToAllDevices;
  if(target != FlushTarget::CurrentContext || !known)
    return Status::InvalidValue;
  state().flushedTo = static_cast<int>(scope);
  return Status::Success;
}
