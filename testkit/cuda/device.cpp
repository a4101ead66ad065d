#include <cuda/standin.hpp>

#include <unistd.h>

#include <cstdio>

/// Only its address counts.
struct rdmagpu::driver::cuda::ContextObject {
  int device;
};

namespace rdmagpu::standin::cuda {
namespace {

ContextObject primaries[deviceCount] = {{0}, {1}};
thread_local std::vector<Context> stack;

constexpr int busIdBytes = sizeof "0000:3B:00.0";

constexpr int ordinalOf(Device device) noexcept { return static_cast<int>(device); }

bool isAlive(Context context) { return state().retained[context->device] > 0; }

} // namespace

bool isDevice(Device device) noexcept {
  return ordinalOf(device) >= 0 && ordinalOf(device) < state().profile->devices;
}

Context current() { return stack.empty() ? nullptr : stack.back(); }

Status checkContext() {
  if(!current())
    return Status::InvalidContext;
  return isAlive(current()) ? Status::Success : Status::ContextIsDestroyed;
}

int deviceOf(Context context) { return context->device; }

void forgetContexts() {
  stack.clear();
  for(ContextObject& context : primaries) {
    endWorkOf(&context);
    unloadModulesOf(&context);
  }
  for(int& count : state().retained)
    count = 0;
}

} // namespace rdmagpu::standin::cuda

using namespace rdmagpu::standin::cuda;

RDMAGPU_STANDIN_API Status cuInit(unsigned flags) {
  const Call call{"cuInit"};
  if(call.refused())
    return call.refusal();
  if(flags != 0)
    return Status::InvalidValue;
  if(state().profile->devices == 0)
    return Status::NoDevice;
  if(state().process != 0 && state().process != getpid())
    return Status::NotInitialized;
  state().process = getpid();
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuGetErrorName(Status status, const char** text) {
  *text = nullptr;
  switch(status) {
  case Status::InvalidValue:
    *text = "CUDA_ERROR_INVALID_VALUE";
    break;
  case Status::OutOfMemory:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case Status::Unknown:
    *text = "CUDA_ERROR_UNKNOWN";
    break;
  default: // the library's own table has the rest
    return Status::InvalidValue;
  }
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceGetCount(int* count) {
  const Call call{"cuDeviceGetCount"};
  if(call.refused())
    return call.refusal();
  if(!count)
    return Status::InvalidValue;
  *count = state().profile->devices;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceGet(Device* device, int ordinal) {
  const Call call{"cuDeviceGet"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(static_cast<Device>(ordinal)))
    return Status::InvalidDevice;
  *device = static_cast<Device>(ordinal);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceGetName(char* name, int length, Device device) {
  const Call call{"cuDeviceGetName"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(length), "rdmagpu software device (%s)",
                state().profile->name);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceGetPCIBusId(char* text, int length, Device device) {
  const Call call{"cuDeviceGetPCIBusId"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  if(length < busIdBytes)
    return Status::InvalidValue;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", 0x3B + ordinalOf(device));
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
  const Call call{"cuDeviceGetUuid_v2"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  for(std::byte& byte : uuid->bytes)
    byte = static_cast<std::byte>(0xA0 + ordinalOf(device));
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  const Call call{"cuDeviceGetAttribute"};
  if(call.refused())
    return call.refusal();
  if(!value)
    return Status::InvalidValue;
  if(!isDevice(device))
    return Status::InvalidDevice;
  const Profile& profile = *state().profile;
  switch(attribute) {
  case DeviceAttribute::Integrated:
    *value = profile.integrated;
    break;
  case DeviceAttribute::VirtualMemoryManagementSupported:
    *value = profile.vmm;
    break;
  case DeviceAttribute::HandleTypePosixFileDescriptorSupported:
    *value = profile.posixFd;
    break;
  case DeviceAttribute::GpuDirectRdmaWithCudaVmmSupported:
    *value = profile.rdmaWithVmm;
    break;
  case DeviceAttribute::GpuDirectRdmaSupported:
    *value = profile.rdma;
    break;
  case DeviceAttribute::GpuDirectRdmaFlushWritesOptions:
    *value = 1;
    break;
  case DeviceAttribute::GpuDirectRdmaWritesOrdering:
    *value = profile.ordering;
    break;
  case DeviceAttribute::DmaBufSupported:
    *value = profile.dmaBuf;
    break;
  default:
    return Status::InvalidValue;
  }
  return *value == unknown ? Status::InvalidValue : Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  const Call call{"cuDeviceTotalMem_v2"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  *bytes = state().profile->memory;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDeviceCanAccessPeer(int* reaches, Device device, Device peer) {
  const Call call{"cuDeviceCanAccessPeer"};
  if(call.refused())
    return call.refusal();
  if(!reaches)
    return Status::InvalidValue;
  if(!isDevice(device) || !isDevice(peer))
    return Status::InvalidDevice;
  *reaches = device != peer && state().profile->gpusReachEachOther;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDevicePrimaryCtxRetain(Context* context, Device device) {
  const Call call{"cuDevicePrimaryCtxRetain"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  ++state().retained[ordinalOf(device)];
  *context = &primaries[ordinalOf(device)];
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuDevicePrimaryCtxRelease_v2(Device device) {
  const Call call{"cuDevicePrimaryCtxRelease_v2"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  int& count = state().retained[ordinalOf(device)];
  if(count == 0)
    return misuse("cuDevicePrimaryCtxRelease_v2", "released more often than retained",
                  Status::InvalidContext);
  if(--count == 0) {
    endWorkOf(&primaries[ordinalOf(device)]);
    unloadModulesOf(&primaries[ordinalOf(device)]);
    freeOwnedBy(&primaries[ordinalOf(device)]);
  }
  return call.outcome();
}

RDMAGPU_STANDIN_API Status cuDevicePrimaryCtxGetState(Device device, unsigned* flags, int* active) {
  const Call call{"cuDevicePrimaryCtxGetState"};
  if(call.refused())
    return call.refusal();
  if(!isDevice(device))
    return Status::InvalidDevice;
  *flags = 0;
  *active = state().retained[ordinalOf(device)] > 0;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxGetCurrent(Context* context) {
  const Call call{"cuCtxGetCurrent"};
  if(call.refused())
    return call.refusal();
  *context = current();
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxGetDevice(Device* device) {
  const Call call{"cuCtxGetDevice"};
  if(call.refused())
    return call.refusal();
  if(!device)
    return Status::InvalidValue;
  if(!current())
    return Status::InvalidContext;
  *device = static_cast<Device>(deviceOf(current()));
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxSetCurrent(Context context) {
  const Call call{"cuCtxSetCurrent"};
  if(call.refused())
    return call.refusal();
  if(!stack.empty())
    stack.pop_back();
  if(context)
    stack.push_back(context);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxPushCurrent_v2(Context context) {
  const Call call{"cuCtxPushCurrent_v2"};
  if(call.refused())
    return call.refusal();
  if(!context)
    return Status::InvalidValue;
  stack.push_back(context);
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxPopCurrent_v2(Context* context) {
  const Call call{"cuCtxPopCurrent_v2"};
  if(call.refused())
    return call.refusal();
  if(stack.empty())
    return Status::InvalidContext;
  if(context)
    *context = stack.back();
  stack.pop_back();
  return call.outcome();
}
