#include <driver/cuda.hpp>

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

/// Our own spelling of CUDA's driver API beside NVIDIA's header.
namespace rdmagpu::driver::cuda {
namespace {

template <class T>
concept Complete = requires {
  sizeof(T);
};

/// Whether a call passes both in the same way.
template <class Ours, class Theirs>
constexpr bool isPassedAlike() {
  if constexpr(std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using O = std::remove_pointer_t<Ours>;
    using T = std::remove_pointer_t<Theirs>;
    if constexpr(std::is_const_v<O> != std::is_const_v<T> || std::is_void_v<O> != std::is_void_v<T>)
      return false;
    else if constexpr(std::is_void_v<O>)
      return true;
    else if constexpr(!Complete<O> || !Complete<T>)
      return !Complete<O> && !Complete<T>; // objects of the driver's own
    else
      return isPassedAlike<std::remove_const_t<O>, std::remove_const_t<T>>();
  } else {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_class_v<Ours> == std::is_class_v<Theirs> &&
           std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
  }
}

static_assert(!isPassedAlike<std::uint32_t, std::size_t>() && !isPassedAlike<const void*, void*>() &&
              !isPassedAlike<Context*, CUcontext>() && !isPassedAlike<AccessDesc*, CUmemLocation*>());

template <class Ours, class Theirs>
struct SameSignature;

template <Symbol Name, Need N, class... Ours, class... Theirs>
struct SameSignature<Fn<Name, Status(Ours...), N>, CUresult CUDAAPI(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr(sizeof...(Ours) != sizeof...(Theirs))
      return false;
    else
      return (isPassedAlike<Ours, Theirs>() && ...);
  }();
};

struct Function {
  const char* symbol;
  const char* ours;
  bool same;
};

/// `exported` is what the library exports: cuda.h gives some of them another name for the programmer.
#define FUNCTION(member, exported)                                                                           \
  Function {                                                                                                 \
#exported, decltype(Functions::member)::symbol(), SameSignature < decltype(Functions::member),           \
        decltype(::exported)> ::value                                                                        \
  }

const std::vector functions{
    FUNCTION(init, cuInit),
    FUNCTION(getErrorName, cuGetErrorName),
    FUNCTION(deviceGetCount, cuDeviceGetCount),
    FUNCTION(deviceGet, cuDeviceGet),
    FUNCTION(deviceGetName, cuDeviceGetName),
    FUNCTION(deviceGetPciBusId, cuDeviceGetPCIBusId),
    FUNCTION(deviceGetUuid, cuDeviceGetUuid_v2),
    FUNCTION(deviceGetAttribute, cuDeviceGetAttribute),
    FUNCTION(deviceTotalMem, cuDeviceTotalMem_v2),
    FUNCTION(deviceCanAccessPeer, cuDeviceCanAccessPeer),
    FUNCTION(ctxGetDevice, cuCtxGetDevice),
    FUNCTION(ctxGetCurrent, cuCtxGetCurrent),
    FUNCTION(ctxGetId, cuCtxGetId),
    FUNCTION(ctxGetApiVersion, cuCtxGetApiVersion),
    FUNCTION(ctxPushCurrent, cuCtxPushCurrent_v2),
    FUNCTION(ctxPopCurrent, cuCtxPopCurrent_v2),
    FUNCTION(primaryCtxRetain, cuDevicePrimaryCtxRetain),
    FUNCTION(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2),
    FUNCTION(primaryCtxGetState, cuDevicePrimaryCtxGetState),
    FUNCTION(memGetAllocationGranularity, cuMemGetAllocationGranularity),
    FUNCTION(memCreate, cuMemCreate),
    FUNCTION(memAddressReserve, cuMemAddressReserve),
    FUNCTION(memMap, cuMemMap),
    FUNCTION(memSetAccess, cuMemSetAccess),
    FUNCTION(memUnmap, cuMemUnmap),
    FUNCTION(memAddressFree, cuMemAddressFree),
    FUNCTION(memRelease, cuMemRelease),
    FUNCTION(memExportToShareableHandle, cuMemExportToShareableHandle),
    FUNCTION(memImportFromShareableHandle, cuMemImportFromShareableHandle),
    FUNCTION(memGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle),
    FUNCTION(memGetHandleForAddressRange, cuMemGetHandleForAddressRange),
    FUNCTION(memGetInfo, cuMemGetInfo_v2),
    FUNCTION(memAlloc, cuMemAlloc_v2),
    FUNCTION(memFree, cuMemFree_v2),
    FUNCTION(memcpyHtoD, cuMemcpyHtoD_v2),
    FUNCTION(memcpyDtoH, cuMemcpyDtoH_v2),
    FUNCTION(memsetD8, cuMemsetD8_v2),
    FUNCTION(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2),
    FUNCTION(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2),
    FUNCTION(memHostRegister, cuMemHostRegister_v2),
    FUNCTION(memHostUnregister, cuMemHostUnregister),
    FUNCTION(memHostAlloc, cuMemHostAlloc),
    FUNCTION(memHostGetDevicePointer, cuMemHostGetDevicePointer_v2),
    FUNCTION(memFreeHost, cuMemFreeHost),
    FUNCTION(streamCreate, cuStreamCreate),
    FUNCTION(streamDestroy, cuStreamDestroy_v2),
    FUNCTION(streamGetCtx, cuStreamGetCtx),
    FUNCTION(streamSynchronize, cuStreamSynchronize),
    FUNCTION(eventCreate, cuEventCreate),
    FUNCTION(eventDestroy, cuEventDestroy_v2),
    FUNCTION(eventRecord, cuEventRecord),
    FUNCTION(eventQuery, cuEventQuery),
    FUNCTION(eventSynchronize, cuEventSynchronize),
    FUNCTION(moduleLoadData, cuModuleLoadData),
    FUNCTION(moduleUnload, cuModuleUnload),
    FUNCTION(moduleGetFunction, cuModuleGetFunction),
    FUNCTION(launchKernel, cuLaunchKernel),
    FUNCTION(pointerGetAttribute, cuPointerGetAttribute),
    FUNCTION(pointerSetAttribute, cuPointerSetAttribute),
    FUNCTION(flushGpuDirectRdmaWrites, cuFlushGPUDirectRDMAWrites),
};

/// Remembers what it is asked for, and has none of it.
class Listener final : public SymbolSource {
public:
  void* find(const char* symbol) noexcept override {
    asked.insert(symbol);
    return nullptr;
  }
  std::set<std::string> asked;
};

TEST(CudaAbi, FunctionsTakeWhatTheHeaderSays) {
  for(const Function& function : functions) {
    EXPECT_STREQ(function.ours, function.symbol);
    EXPECT_TRUE(function.same) << function.symbol;
  }
}

TEST(CudaAbi, EveryFunctionOfTheTableIsCompared) {
  Listener listener;
  const Functions table{listener};
  for(const Function& function : functions)
    listener.asked.erase(function.symbol);
  EXPECT_EQ(listener.asked, std::set<std::string>{});
}

#define EXPECT_FIELD(ours, theirs, field, theirField)                                                        \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, theirField));                                            \
  EXPECT_EQ(sizeof(ours::field), sizeof(theirs::theirField))

TEST(CudaAbi, StructuresHaveTheHeadersLayout) {
  EXPECT_EQ(sizeof(Location), sizeof(CUmemLocation));
  EXPECT_FIELD(Location, CUmemLocation, type, type);
  EXPECT_FIELD(Location, CUmemLocation, id, id);
  EXPECT_EQ(sizeof(AllocationProp), sizeof(CUmemAllocationProp));
  EXPECT_EQ(alignof(AllocationProp), alignof(CUmemAllocationProp));
  EXPECT_FIELD(AllocationProp, CUmemAllocationProp, type, type);
  EXPECT_FIELD(AllocationProp, CUmemAllocationProp, requestedHandleTypes, requestedHandleTypes);
  EXPECT_FIELD(AllocationProp, CUmemAllocationProp, location, location);
  EXPECT_FIELD(AllocationProp, CUmemAllocationProp, win32HandleMetaData, win32HandleMetaData);
  EXPECT_FIELD(AllocationProp, CUmemAllocationProp, allocFlags, allocFlags);
  EXPECT_EQ(sizeof(AccessDesc), sizeof(CUmemAccessDesc));
  EXPECT_FIELD(AccessDesc, CUmemAccessDesc, location, location);
  EXPECT_FIELD(AccessDesc, CUmemAccessDesc, flags, flags);
  EXPECT_EQ(sizeof(Uuid), sizeof(CUuuid));
}

TEST(CudaAbi, AllocationFlagsHaveTheHeadersLayout) {
  using Theirs = decltype(CUmemAllocationProp::allocFlags);
  EXPECT_EQ(sizeof(AllocationFlags), sizeof(Theirs));
  EXPECT_FIELD(AllocationFlags, Theirs, compressionType, compressionType);
  EXPECT_FIELD(AllocationFlags, Theirs, gpuDirectRdmaCapable, gpuDirectRDMACapable);
  EXPECT_FIELD(AllocationFlags, Theirs, usage, usage);
}

template <class Ours, class Theirs>
constexpr bool isValue(Ours ours, Theirs theirs) {
  return static_cast<unsigned long long>(ours) == static_cast<unsigned long long>(theirs);
}
#define EXPECT_VALUE(ours, theirs) EXPECT_TRUE(isValue(ours, theirs)) << #theirs

TEST(CudaAbi, StatusesHaveTheHeadersValues) {
  EXPECT_VALUE(Status::Success, CUDA_SUCCESS);
  EXPECT_VALUE(Status::InvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(Status::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_VALUE(Status::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_VALUE(Status::Deinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_VALUE(Status::NoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_VALUE(Status::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_VALUE(Status::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_VALUE(Status::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_VALUE(Status::InvalidPtx, CUDA_ERROR_INVALID_PTX);
  EXPECT_VALUE(Status::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_VALUE(Status::NotFound, CUDA_ERROR_NOT_FOUND);
  EXPECT_VALUE(Status::NotReady, CUDA_ERROR_NOT_READY);
  EXPECT_VALUE(Status::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_VALUE(Status::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_VALUE(Status::HostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_VALUE(Status::HostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_VALUE(Status::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_VALUE(Status::Unknown, CUDA_ERROR_UNKNOWN);
}

TEST(CudaAbi, AttributesHaveTheHeadersValues) {
  using D = DeviceAttribute;
  EXPECT_VALUE(D::Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
  EXPECT_VALUE(D::VirtualMemoryManagementSupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
  EXPECT_VALUE(D::HandleTypePosixFileDescriptorSupported,
               CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
  EXPECT_VALUE(D::GpuDirectRdmaWithCudaVmmSupported,
               CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
  EXPECT_VALUE(D::GpuDirectRdmaSupported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  EXPECT_VALUE(D::GpuDirectRdmaFlushWritesOptions, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
  EXPECT_VALUE(D::GpuDirectRdmaWritesOrdering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
  EXPECT_VALUE(D::DmaBufSupported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
  using P = PointerAttribute;
  EXPECT_VALUE(P::OwningContext, CU_POINTER_ATTRIBUTE_CONTEXT);
  EXPECT_VALUE(P::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  EXPECT_VALUE(P::SyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  EXPECT_VALUE(P::IsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
  EXPECT_VALUE(P::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_VALUE(P::RangeStartAddr, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
  EXPECT_VALUE(P::RangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
  EXPECT_VALUE(P::IsGpuDirectRdmaCapable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);
  EXPECT_VALUE(P::MempoolHandle, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
  EXPECT_VALUE(P::MappingSize, CU_POINTER_ATTRIBUTE_MAPPING_SIZE);
}

TEST(CudaAbi, ChoicesHaveTheHeadersValues) {
  EXPECT_VALUE(AllocationType::Pinned, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_VALUE(MemoryType::Host, CU_MEMORYTYPE_HOST);
  EXPECT_VALUE(MemoryType::Device, CU_MEMORYTYPE_DEVICE);
  EXPECT_VALUE(HandleType::None, CU_MEM_HANDLE_TYPE_NONE);
  EXPECT_VALUE(HandleType::PosixFileDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_VALUE(LocationType::Device, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_VALUE(AccessFlags::ReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_VALUE(Granularity::Minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  EXPECT_VALUE(RangeHandleType::DmaBufFd, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
#if CUDA_VERSION >= 12080
  EXPECT_VALUE(dmaBufMappingTypePcie, CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
#endif
  EXPECT_VALUE(StreamFlags::NonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_VALUE(EventFlags::DisableTiming, CU_EVENT_DISABLE_TIMING);
  EXPECT_VALUE(HostRegisterFlags::Portable, CU_MEMHOSTREGISTER_PORTABLE);
  EXPECT_VALUE(HostAllocFlags::DeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
  EXPECT_VALUE(FlushTarget::CurrentContext, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
  EXPECT_VALUE(FlushScope::ToOwner, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
  EXPECT_VALUE(FlushScope::ToAllDevices, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
  EXPECT_VALUE(orderedForOwner, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER);
  EXPECT_VALUE(orderedForAllDevices, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(CU_STREAM_LEGACY), legacyStream);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD), perThreadStream);
}

} // namespace
} // namespace rdmagpu::driver::cuda
