#pragma once
#include <driver/fn.hpp>
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>

/// CUDA's driver API as far as it is used here: our own spelling of its types, values and exported
/// names. No decisions. The suffix _v2 is part of a name: without it the driver exports, for the
/// same function, an old interface with 32-bit sizes.
namespace rdmagpu::driver::cuda {

/// CUresult. Those that code here looks at; any other value may come too.
enum class Status : std::uint32_t {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  ContextIsDestroyed = 709,
  HostMemoryAlreadyRegistered = 712,
  HostMemoryNotRegistered = 713,
  NotSupported = 801,
  Unknown = 999,
};

constexpr Status notAvailable(Status) noexcept { return Status::NotSupported; }

enum class Device : std::int32_t {};
enum class MemHandle : std::uint64_t {};
using DevicePtr = std::uint64_t;
struct ContextObject;
using Context = ContextObject*;
struct StreamObject;
using Stream = StreamObject*; ///< Null: the default stream.
struct EventObject;
using Event = EventObject*;
struct ModuleObject;
using Module = ModuleObject*;
struct FunctionObject;
using Function = FunctionObject*;

enum class DeviceAttribute : std::uint32_t {
  Integrated = 18,
  VirtualMemoryManagementSupported = 102,
  HandleTypePosixFileDescriptorSupported = 103,
  GpuDirectRdmaWithCudaVmmSupported = 110,
  GpuDirectRdmaSupported = 116,
  GpuDirectRdmaFlushWritesOptions = 117,
  GpuDirectRdmaWritesOrdering = 118,
  DmaBufSupported = 124,
};

enum class PointerAttribute : std::uint32_t {
  OwningContext = 1,
  MemoryType = 2,
  SyncMemops = 6,
  IsManaged = 8,
  DeviceOrdinal = 9,
  RangeStartAddr = 11,
  RangeSize = 12,
  IsGpuDirectRdmaCapable = 15,
  MempoolHandle = 17,
  MappingSize = 18,
};
enum class MemoryType : std::uint32_t { Host = 1, Device = 2 };

enum class AllocationType : std::uint32_t { Pinned = 1 };
enum class HandleType : std::uint32_t { None = 0, PosixFileDescriptor = 1 };
enum class LocationType : std::uint32_t { Device = 1 };
enum class AccessFlags : std::uint32_t { ReadWrite = 3 };
enum class Granularity : std::uint32_t { Minimum = 0 };
enum class RangeHandleType : std::uint32_t { DmaBufFd = 1 };
enum class StreamFlags : std::uint32_t {
  NonBlocking = 1
}; ///< Does not wait for the default stream, nor it for this.
enum class EventFlags : std::uint32_t { DisableTiming = 2 };
enum class HostRegisterFlags : std::uint32_t { Portable = 1 }; ///< For every context.
enum class HostAllocFlags : std::uint32_t { DeviceMap = 2 };   ///< The GPU's kernels reach it.
enum class FlushTarget : std::uint32_t { CurrentContext = 0 };
enum class FlushScope : std::uint32_t { ToOwner = 100, ToAllDevices = 200 };

/// CU_STREAM_LEGACY, which null means too, and CU_STREAM_PER_THREAD: handles that stand for default streams.
inline constexpr std::uintptr_t legacyStream = 1;
inline constexpr std::uintptr_t perThreadStream = 2;

/// A flag of cuMemGetHandleForAddressRange: CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE.
inline constexpr unsigned long long dmaBufMappingTypePcie = 1;

/// From this value of GpuDirectRdmaWritesOrdering on, the owner sees a peer's writes without a flush.
inline constexpr int orderedForOwner = 100;
/// And from this one on every other GPU does.
inline constexpr int orderedForAllDevices = 200;

struct Location {
  LocationType type{LocationType::Device};
  std::int32_t id{}; ///< A device's ordinal.
  bool operator==(const Location&) const noexcept = default;
};

struct AllocationFlags {
  std::uint8_t compressionType{};
  std::uint8_t gpuDirectRdmaCapable{};
  std::uint16_t usage{};
  std::uint8_t reserved[4]{};
};

/// CUmemAllocationProp
struct AllocationProp {
  AllocationType type{AllocationType::Pinned};
  HandleType requestedHandleTypes{};
  Location location{};
  void* win32HandleMetaData{};
  AllocationFlags allocFlags{};
};
static_assert(sizeof(AllocationProp) == 32 && offsetof(AllocationProp, location) == 8 &&
              offsetof(AllocationProp, allocFlags) == 24);

/// CUmemAccessDesc
struct AccessDesc {
  Location location{};
  AccessFlags flags{AccessFlags::ReadWrite};
};
static_assert(sizeof(AccessDesc) == 12);

/// CUuuid
struct Uuid {
  std::byte bytes[16]{};
};

/// A failure of that function, with what is known of the code without asking the driver.
RDMAGPU_API Error failureOf(const char* symbol, Status status, std::uint64_t bytes) noexcept;

/// Every function that is called, once.
struct Functions {
  explicit Functions(SymbolSource& source) noexcept : load(source) {}

  /// Calls one, and makes its failure an Error that names it. `bytes` is the size it was asked for.
  template <class Function, class... Args>
  Result<void> call(std::uint64_t bytes, const Function& function, Args... args) const noexcept {
    const Status status = function(args...);
    if(status == Status::Success)
      return {};
    return failure(function.symbol(), status, bytes);
  }

  Error failure(const char* symbol, Status status, std::uint64_t bytes) const noexcept;

  Loader load;

  // clang-format off
  Fn<"cuInit", Status(unsigned)> init{load};
  Fn<"cuGetErrorName", Status(Status, const char**), Need::Optional> getErrorName{load};
  Fn<"cuDeviceGetCount", Status(int*)> deviceGetCount{load};
  Fn<"cuDeviceGet", Status(Device*, int)> deviceGet{load};
  Fn<"cuDeviceGetName", Status(char*, int, Device)> deviceGetName{load};
  Fn<"cuDeviceGetPCIBusId", Status(char*, int, Device)> deviceGetPciBusId{load};
  Fn<"cuDeviceGetUuid_v2", Status(Uuid*, Device), Need::Optional> deviceGetUuid{load};
  Fn<"cuDeviceGetAttribute", Status(int*, DeviceAttribute, Device)> deviceGetAttribute{load};
  Fn<"cuDeviceTotalMem_v2", Status(std::size_t*, Device)> deviceTotalMem{load};
  Fn<"cuDeviceCanAccessPeer", Status(int*, Device, Device)> deviceCanAccessPeer{load};

  Fn<"cuCtxGetDevice", Status(Device*)> ctxGetDevice{load};
  Fn<"cuCtxGetCurrent", Status(Context*)> ctxGetCurrent{load};
  Fn<"cuCtxGetId", Status(Context, std::uint64_t*), Need::Optional> ctxGetId{load}; // CUDA 12.0
  Fn<"cuCtxGetApiVersion", Status(Context, unsigned*)> ctxGetApiVersion{load};
  Fn<"cuCtxPushCurrent_v2", Status(Context)> ctxPushCurrent{load};
  Fn<"cuCtxPopCurrent_v2", Status(Context*)> ctxPopCurrent{load};
  Fn<"cuDevicePrimaryCtxRetain", Status(Context*, Device)> primaryCtxRetain{load};
  Fn<"cuDevicePrimaryCtxRelease_v2", Status(Device)> primaryCtxRelease{load};
  Fn<"cuDevicePrimaryCtxGetState", Status(Device, unsigned*, int*), Need::Optional> primaryCtxGetState{load};

  Fn<"cuMemGetAllocationGranularity", Status(std::size_t*, const AllocationProp*, Granularity), Need::Optional> memGetAllocationGranularity{load};
  Fn<"cuMemCreate", Status(MemHandle*, std::size_t, const AllocationProp*, unsigned long long), Need::Optional> memCreate{load};
  Fn<"cuMemAddressReserve", Status(DevicePtr*, std::size_t, std::size_t, DevicePtr, unsigned long long), Need::Optional> memAddressReserve{load};
  Fn<"cuMemMap", Status(DevicePtr, std::size_t, std::size_t, MemHandle, unsigned long long), Need::Optional> memMap{load};
  Fn<"cuMemSetAccess", Status(DevicePtr, std::size_t, const AccessDesc*, std::size_t), Need::Optional> memSetAccess{load};
  Fn<"cuMemUnmap", Status(DevicePtr, std::size_t), Need::Optional> memUnmap{load};
  Fn<"cuMemAddressFree", Status(DevicePtr, std::size_t), Need::Optional> memAddressFree{load};
  Fn<"cuMemRelease", Status(MemHandle), Need::Optional> memRelease{load};
  Fn<"cuMemExportToShareableHandle", Status(void*, MemHandle, HandleType, unsigned long long), Need::Optional> memExportToShareableHandle{load};
  Fn<"cuMemImportFromShareableHandle", Status(MemHandle*, void*, HandleType), Need::Optional> memImportFromShareableHandle{load};
  Fn<"cuMemGetAllocationPropertiesFromHandle", Status(AllocationProp*, MemHandle), Need::Optional> memGetAllocationPropertiesFromHandle{load};
  Fn<"cuMemGetHandleForAddressRange", Status(void*, DevicePtr, std::size_t, RangeHandleType, unsigned long long), Need::Optional> memGetHandleForAddressRange{load};

  Fn<"cuMemGetInfo_v2", Status(std::size_t*, std::size_t*)> memGetInfo{load};
  Fn<"cuMemAlloc_v2", Status(DevicePtr*, std::size_t)> memAlloc{load};
  Fn<"cuMemFree_v2", Status(DevicePtr)> memFree{load};
  Fn<"cuMemcpyHtoD_v2", Status(DevicePtr, const void*, std::size_t)> memcpyHtoD{load};
  Fn<"cuMemcpyDtoH_v2", Status(void*, DevicePtr, std::size_t)> memcpyDtoH{load};
  Fn<"cuMemsetD8_v2", Status(DevicePtr, unsigned char, std::size_t)> memsetD8{load};
  Fn<"cuMemcpyHtoDAsync_v2", Status(DevicePtr, const void*, std::size_t, Stream)> memcpyHtoDAsync{load};
  Fn<"cuMemcpyDtoHAsync_v2", Status(void*, DevicePtr, std::size_t, Stream)> memcpyDtoHAsync{load};
  Fn<"cuMemHostRegister_v2", Status(void*, std::size_t, HostRegisterFlags)> memHostRegister{load};
  Fn<"cuMemHostUnregister", Status(void*)> memHostUnregister{load};
  Fn<"cuMemHostAlloc", Status(void**, std::size_t, HostAllocFlags)> memHostAlloc{load};
  Fn<"cuMemHostGetDevicePointer_v2", Status(DevicePtr*, void*, unsigned)> memHostGetDevicePointer{load};
  Fn<"cuMemFreeHost", Status(void*)> memFreeHost{load};

  Fn<"cuStreamCreate", Status(Stream*, StreamFlags)> streamCreate{load};
  Fn<"cuStreamDestroy_v2", Status(Stream)> streamDestroy{load};
  Fn<"cuStreamGetCtx", Status(Stream, Context*), Need::Optional> streamGetCtx{load};
  Fn<"cuStreamSynchronize", Status(Stream)> streamSynchronize{load};
  Fn<"cuEventCreate", Status(Event*, EventFlags)> eventCreate{load};
  Fn<"cuEventDestroy_v2", Status(Event)> eventDestroy{load};
  Fn<"cuEventRecord", Status(Event, Stream)> eventRecord{load};
  Fn<"cuEventQuery", Status(Event)> eventQuery{load};
  Fn<"cuEventSynchronize", Status(Event)> eventSynchronize{load};

  Fn<"cuModuleLoadData", Status(Module*, const void*)> moduleLoadData{load};
  Fn<"cuModuleUnload", Status(Module)> moduleUnload{load};
  Fn<"cuModuleGetFunction", Status(Function*, Module, const char*)> moduleGetFunction{load};
  Fn<"cuLaunchKernel", Status(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)> launchKernel{load};

  Fn<"cuPointerGetAttribute", Status(void*, PointerAttribute, DevicePtr)> pointerGetAttribute{load};
  Fn<"cuPointerSetAttribute", Status(const void*, PointerAttribute, DevicePtr)> pointerSetAttribute{load};
  Fn<"cuFlushGPUDirectRDMAWrites", Status(FlushTarget, FlushScope), Need::Optional> flushGpuDirectRdmaWrites{load};
  // clang-format on
};

} // namespace rdmagpu::driver::cuda
