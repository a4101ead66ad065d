#include <cuda/standin.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>

/// Its address is the handle.
struct rdmagpu::driver::cuda::ContextObject {
  int device{};
  std::uint64_t id{}; ///< No other context's, ever. A primary context has another one each time it is made.
  bool created{};     ///< By cuCtxCreate: no device's primary one.
  bool destroyed{};   ///< The next one that is created has the handle.
};

namespace rdmagpu::standin::cuda {
namespace {

std::uint64_t lastContextId = 0;
ContextObject primaries[deviceCount] = {{.device = 0}, {.device = 1}};
thread_local std::vector<Context> stack;

std::deque<ContextObject>& created() {
  static auto* const all = new std::deque<ContextObject>; // like state()
  return *all;
}

constexpr int busIdBytes = sizeof "0000:3B:00.0";

constexpr int ordinalOf(Device device) noexcept { return static_cast<int>(device); }

bool isAlive(Context context) {
  return context->created ? !context->destroyed : state().retained[context->device] > 0;
}

bool isPrimary(Context context) { return context >= primaries && context < primaries + deviceCount; }

bool isKnown(Context context) {
  return isPrimary(context) || std::any_of(created().begin(), created().end(),
                                           [&](const ContextObject& known) { return &known == context; });
}

/// Whether a handle can be made current. A primary context that was given back can, as was measured. With one
/// that was destroyed the driver does so, or dies: it reads memory that is not its own any more.
Status checkHandle(const char* call, Context context) {
  if(!isKnown(context))
    return misuse(call, "what is no context", Status::InvalidContext);
  return context->destroyed ? misuse(call, "a context that was destroyed", Status::InvalidContext)
                            : Status::Success;
}

void endContext(Context context) {
  endWorkOf(context);
  unloadModulesOf(context);
  freeOwnedBy(context);
}

/// Creates a context and makes it current. `affinity`, `graphics`: whether parameters ask for a part of the
/// multiprocessors, or for a graphics client's work, which a software device has not.
Status createContext(Context* context, bool affinity, bool graphics, unsigned flags, Device device) {
  constexpr unsigned schedules = 7; // spin, yield or block: one of them at most
  constexpr unsigned known = 0xFF;
  constexpr auto unsupportedAffinity = static_cast<Status>(224);
  const unsigned schedule = flags & schedules;
  if(!isDevice(device))
    return Status::InvalidDevice;
  if(!context || (flags & ~known) != 0 || (schedule & (schedule - 1)) != 0)
    return Status::InvalidValue;
  if(affinity || graphics)
    return affinity ? unsupportedAffinity : Status::NotSupported;
  const auto gone = std::ranges::find_if(created(), &ContextObject::destroyed);
  *context = gone != created().end() ? &*gone : &created().emplace_back();
  **context = {.device = ordinalOf(device), .id = ++lastContextId, .created = true};
  stack.push_back(*context);
  return Status::Success;
}

} // namespace

bool isDevice(Device device) noexcept {
  return ordinalOf(device) >= 0 && ordinalOf(device) < state().profile->devices;
}

const Profile& gpu(int ordinal) { return gpuOf(*state().profile, ordinal); }

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
  for(ContextObject& context : created()) {
    unloadModulesOf(&context);
    context.destroyed = true;
  }
}

std::size_t createdContexts() {
  return static_cast<std::size_t>(
      std::count_if(created().begin(), created().end(), [](const auto& known) { return !known.destroyed; }));
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
  const Profile& profile = gpu(ordinalOf(device));
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
  if(state().retained[ordinalOf(device)]++ == 0)
    primaries[ordinalOf(device)].id = ++lastContextId;
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
  if(--count == 0)
    endContext(&primaries[ordinalOf(device)]);
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

// The two that may be asked of a context that has gone.

RDMAGPU_STANDIN_API Status cuCtxGetId(Context context, std::uint64_t* id) {
  const Call call{"cuCtxGetId"};
  if(call.refused())
    return call.refusal();
  if(!isKnown(context))
    return misuse("cuCtxGetId", "what is no context", Status::InvalidContext);
  if(!isAlive(context))
    return Status::ContextIsDestroyed;
  *id = context->id;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxGetApiVersion(Context context, unsigned* version) {
  constexpr unsigned ofCreatedContexts = 3020;
  const Call call{"cuCtxGetApiVersion"};
  if(call.refused())
    return call.refusal();
  if(!isKnown(context))
    return misuse("cuCtxGetApiVersion", "what is no context", Status::InvalidContext);
  if(!isAlive(context))
    return Status::InvalidContext;
  *version = ofCreatedContexts;
  return Status::Success;
}

RDMAGPU_STANDIN_API Status cuCtxSetCurrent(Context context) {
  const Call call{"cuCtxSetCurrent"};
  if(call.refused())
    return call.refusal();
  if(context) {
    if(const Status status = checkHandle("cuCtxSetCurrent", context); status != Status::Success)
      return status;
  }
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
  if(const Status status = checkHandle("cuCtxPushCurrent_v2", context); status != Status::Success)
    return status;
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

RDMAGPU_STANDIN_API Status cuCtxSynchronize() {
  const Call call{"cuCtxSynchronize"};
  if(call.refused())
    return call.refusal();
  if(const Status status = checkContext(); status != Status::Success)
    return status;
  finishWorkOf(current());
  return Status::Success;
}

// Each version of it is there for the programs that were built with its header.

RDMAGPU_STANDIN_API Status cuCtxCreate_v2(Context* context, unsigned flags, Device device) {
  const Call call{"cuCtxCreate_v2"};
  return call.refused() ? call.refusal() : createContext(context, false, false, flags, device);
}

RDMAGPU_STANDIN_API Status cuCtxCreate_v3(Context* context, ExecAffinity* affinities, int count,
                                          unsigned flags, Device device) {
  const Call call{"cuCtxCreate_v3"};
  if(call.refused())
    return call.refusal();
  if(count < 0 || (count > 0) != (affinities != nullptr))
    return Status::InvalidValue;
  return createContext(context, count > 0, false, flags, device);
}

RDMAGPU_STANDIN_API Status cuCtxCreate_v4(Context* context, ContextParams* params, unsigned flags,
                                          Device device) {
  const Call call{"cuCtxCreate_v4"};
  if(call.refused())
    return call.refusal();
  const bool affinity = params && params->affinities;
  const bool graphics = params && params->graphics;
  if(params && affinity == graphics) // exactly one is to be named
    return Status::InvalidValue;
  return createContext(context, affinity, graphics, flags, device);
}

RDMAGPU_STANDIN_API Status cuCtxDestroy_v2(Context context) {
  const Call call{"cuCtxDestroy_v2"};
  if(call.refused())
    return call.refusal();
  if(!context)
    return Status::InvalidValue;
  if(!isKnown(context) || !context->created || context->destroyed)
    return misuse("cuCtxDestroy_v2", "what cuCtxCreate did not make, or is destroyed already",
                  Status::InvalidContext);
  rememberGone(context);
  endContext(context);
  context->destroyed = true;
  if(current() == context) // where it is another thread's current one it stays that
    stack.pop_back();
  return call.outcome();
}
