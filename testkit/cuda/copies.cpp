#include <cuda/standin.hpp>

#include <cstring>

using namespace rdmagpu::standin::cuda;
using rdmagpu::driver::cuda::FlushScope;
using rdmagpu::driver::cuda::FlushTarget;
using rdmagpu::driver::cuda::Stream;

namespace {

Status checkCopy(DevicePtr address, std::size_t bytes) {
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  return isAccessible(address, bytes) ? Status::Success : Status::InvalidValue;
}

} // namespace

RDMAGPU_STANDIN_API Status cuMemcpyHtoD_v2(DevicePtr to, const void* from, std::size_t bytes) {
  const Call call{"cuMemcpyHtoD_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(to, bytes); status != Status::Success)
    return status;
  std::memcpy(hostView(to), from, bytes);
  ++state().unfinished;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemcpyDtoH_v2(void* to, DevicePtr from, std::size_t bytes) {
  const Call call{"cuMemcpyDtoH_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(from, bytes); status != Status::Success)
    return status;
  std::memcpy(to, hostView(from), bytes);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuMemsetD8_v2(DevicePtr to, unsigned char value, std::size_t bytes) {
  const Call call{"cuMemsetD8_v2"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkCopy(to, bytes); status != Status::Success)
    return status;
  std::memset(hostView(to), value, bytes);
  ++state().unfinished;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuStreamSynchronize(Stream) {
  const Call call{"cuStreamSynchronize"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  state().unfinished = 0;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuFlushGPUDirectRDMAWrites(FlushTarget target, FlushScope scope) {
  const Call call{"cuFlushGPUDirectRDMAWrites"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  const bool good = target == FlushTarget::CurrentContext && scope == FlushScope::ToOwner;
  return good ? Status::Success : Status::InvalidValue;
}
