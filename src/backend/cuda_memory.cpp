#include <backend/cuda_memory.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>
#include <os/fd_passing.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

constexpr api::DevicePtr alignedUp(api::DevicePtr address) noexcept {
  return (address + gpuPageBytes - 1) / gpuPageBytes * gpuPageBytes;
}

Result<std::size_t> granularityOf(const api::AllocationProp& prop) {
  const api::Functions& cuda = loadedDriver();
  std::size_t granularity{};
  if(const auto got =
         cuda.call(0, cuda.memGetAllocationGranularity, &granularity, &prop, api::Granularity::Minimum);
     !got)
    return got.error();
  return std::max(granularity, gpuPageBytes);
}

api::AllocationProp propFor(int ordinal, api::HandleType type, bool rdma) noexcept {
  const auto flag = static_cast<unsigned char>(rdma ? 1 : 0);
  return {.requestedHandleTypes = type,
          .location = {.id = ordinal},
          .allocFlags = {.gpuDirectRdmaCapable = flag}};
}

/// Whether memory is to be made with the RDMA flag.
bool wantsRdma(const Gpu& gpu, GpuRdma wanted) noexcept {
  return wanted == GpuRdma::Require || (wanted == GpuRdma::Try && gpu.rdmaWithVmm);
}

/// The driver says no more of a descriptor that is not of such memory, or of a size that is not the memory's,
/// than these; of the first CUDA_ERROR_UNKNOWN, measured.
bool refusesWhatWasShared(const Error& error) noexcept {
  const auto status = static_cast<api::Status>(error.code);
  return error.origin == Origin::Cuda &&
         (status == api::Status::Unknown || status == api::Status::InvalidValue ||
          status == api::Status::NotSupported);
}

} // namespace

void HandleTraits::close(api::MemHandle handle) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(0, cuda.memRelease, handle));
}

void ReservationTraits::close(Range range) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(range.bytes, cuda.memAddressFree, range.address, range.bytes));
}

void MappingTraits::close(Range range) noexcept {
  if(inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  logRelease(cuda.call(range.bytes, cuda.memUnmap, range.address, range.bytes));
}

Result<void> VmmMemory::create(std::size_t bytes, api::HandleType type, bool rdma) {
  const api::Functions& cuda = loadedDriver();
  const api::AllocationProp prop = propFor(m_ordinal, type, rdma);
  const auto granularity = granularityOf(prop);
  if(!granularity)
    return granularity.error();
  const auto rounded = roundUp(bytes, *granularity);
  if(!rounded)
    return libraryError("RdmaGpuBuffer::make", LibraryCode::SizeOverflow, bytes);
  api::MemHandle handle{};
  if(const auto created = cuda.call(*rounded, cuda.memCreate, &handle, *rounded, &prop, 0ULL); !created)
    return created;
  m_handle = Unique<HandleTraits>{handle};
  m_granularity = *granularity;
  m_shareable = type == api::HandleType::PosixFileDescriptor;
  return map(*rounded);
}

Result<void> VmmMemory::map(std::size_t bytes) {
  const api::Functions& cuda = loadedDriver();
  Range range{.bytes = bytes};
  const auto reserved =
      cuda.call(bytes, cuda.memAddressReserve, &range.address, bytes, m_granularity, api::DevicePtr{}, 0ULL);
  if(!reserved)
    return reserved;
  m_reservation = Unique<ReservationTraits>{range};
  if(const auto mapped =
         cuda.call(bytes, cuda.memMap, range.address, bytes, std::size_t{0}, m_handle.get(), 0ULL);
     !mapped)
    return mapped;
  m_mapping = Unique<MappingTraits>{range};
  return grantAccess(m_ordinal);
}

Result<void> VmmMemory::grantAccess(int ordinal) const {
  const api::Functions& cuda = loadedDriver();
  const api::AccessDesc access{.location = {.id = ordinal}};
  return cuda.call(bytes(), cuda.memSetAccess, address(), bytes(), &access, std::size_t{1});
}

Result<VmmMemory> VmmMemory::allocate(const Gpu& gpu, GpuRdma wanted, std::size_t bytes,
                                      std::vector<Error>& tolerated) {
  const bool rdma = wantsRdma(gpu, wanted);
  if(gpu.posixFd) {
    VmmMemory memory;
    memory.m_ordinal = gpu.ordinal;
    const auto created = memory.create(bytes, api::HandleType::PosixFileDescriptor, rdma);
    if(created)
      return memory;
    // Some sandboxes refuse memory that could leave the process, and only that.
    if(created.error().kind == Errc::OutOfMemory || memory.m_handle)
      return created.error();
    tolerated.push_back(created.error());
  }
  VmmMemory memory;
  memory.m_ordinal = gpu.ordinal;
  if(const auto created = memory.create(bytes, api::HandleType::None, rdma); !created)
    return created.error();
  return memory;
}

Result<std::size_t> VmmMemory::granularityOn(const Gpu& gpu, GpuRdma wanted) {
  const auto type = gpu.posixFd ? api::HandleType::PosixFileDescriptor : api::HandleType::None;
  return granularityOf(propFor(gpu.ordinal, type, wantsRdma(gpu, wanted)));
}

Result<VmmMemory> VmmMemory::import(os::Fd fd, std::size_t bytes) {
  const api::Functions& cuda = loadedDriver();
  api::MemHandle handle{};
  // The exporter writes an int; the importer takes its value in the place of a pointer.
  void* const asPointer = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
  const auto imported = cuda.call(bytes, cuda.memImportFromShareableHandle, &handle, asPointer,
                                  api::HandleType::PosixFileDescriptor);
  if(!imported)
    return refusesWhatWasShared(imported.error())
               ? libraryError(imported.error().call, LibraryCode::ShareForeign, bytes)
               : imported.error();
  VmmMemory memory;
  memory.m_handle = Unique<HandleTraits>{handle};
  api::AllocationProp prop;
  const auto known = cuda.call(0, cuda.memGetAllocationPropertiesFromHandle, &prop, handle);
  if(!known)
    return known.error();
  const auto granularity = granularityOf(prop);
  if(!granularity)
    return granularity.error();
  if(bytes == 0 || bytes % *granularity != 0)
    return libraryError("RdmaGpuBuffer::attach", LibraryCode::ShareMalformed, bytes, *granularity);
  memory.m_granularity = *granularity;
  memory.m_ordinal = prop.location.id;
  memory.m_shareable = false; // the driver does not export again what was imported
  if(const auto mapped = memory.map(bytes); !mapped) {
    const bool sized =
        std::string_view{mapped.error().call} == cuda.memMap.symbol() && refusesWhatWasShared(mapped.error());
    return sized ? libraryError(cuda.memMap.symbol(), LibraryCode::ShareMalformed, bytes) : mapped.error();
  }
  return memory;
}

Result<void> VmmMemory::setSyncMemops() const { return cuda::setSyncMemops(address()); }

Result<os::Fd> VmmMemory::share() const {
  if(const auto process = checkProcess(); !process)
    return process.error();
  const api::Functions& cuda = loadedDriver();
  int number = -1;
  const auto exported = cuda.call(bytes(), cuda.memExportToShareableHandle, static_cast<void*>(&number),
                                  m_handle.get(), api::HandleType::PosixFileDescriptor, 0ULL);
  if(!exported)
    return exported.error();
  os::Fd fd{number};
  if(const auto set = os::setInheritable(fd.get(), false); !set)
    return set.error();
  return fd;
}

PlainMemory::PlainMemory(const ContextSource& contexts, api::DevicePtr raw, std::size_t bytes) noexcept
    : m_contexts(&contexts), m_raw(raw), m_aligned(alignedUp(raw)), m_bytes(bytes) {}

PlainMemory::PlainMemory(PlainMemory&& other) noexcept
    : m_contexts(other.m_contexts),
      m_raw(std::exchange(other.m_raw, 0)),
      m_aligned(std::exchange(other.m_aligned, 0)),
      m_bytes(std::exchange(other.m_bytes, 0)) {}

PlainMemory::~PlainMemory() {
  if(m_raw == 0 || inForkedChild())
    return;
  const api::Functions& cuda = loadedDriver();
  const auto own = m_contexts->lasting();
  // In no other context: where its own has gone the address may be another's by now.
  logRelease(own ? runIn(*own, [&] { return cuda.call(m_bytes, cuda.memFree, m_raw); }) : own.error());
}

Result<PlainMemory> PlainMemory::allocate(const ContextSource& contexts, std::size_t bytes) {
  const auto padded = checkedAdd(bytes, gpuPageBytes);
  if(!padded)
    return libraryError("RdmaGpuBuffer::make", LibraryCode::SizeOverflow, bytes);
  if(const auto settled = contexts.settle(); !settled)
    return settled.error();
  const api::Functions& cuda = loadedDriver();
  api::DevicePtr raw{};
  const auto allocated = contexts.run(Keep::Yes, [&]() -> Result<void> {
    const auto made = cuda.call(*padded, cuda.memAlloc, &raw, *padded);
    if(made || made.error().kind != Errc::OutOfMemory)
      return made;
    Error error = made.error(); // with what is free, which no one can ask for once this context has gone
    const auto told = readFreeBytes(error.available);
    return told ? error : made.error();
  });
  if(!allocated)
    return allocated.error();
  return PlainMemory{contexts, raw, *padded};
}

Result<void> PlainMemory::setSyncMemops() const {
  return m_contexts->run(Keep::Yes, [&] { return cuda::setSyncMemops(m_raw); });
}

Result<void> setSyncMemops(api::DevicePtr address) noexcept {
  const api::Functions& cuda = loadedDriver();
  const std::uint32_t on = 1;
  return cuda.call(0, cuda.pointerSetAttribute, static_cast<const void*>(&on),
                   api::PointerAttribute::SyncMemops, address);
}

Result<void> checkCapable(const Gpu& gpu, api::DevicePtr address) {
  const api::Functions& cuda = loadedDriver();
  int capable{};
  const auto asked = cuda.call(0, cuda.pointerGetAttribute, static_cast<void*>(&capable),
                               api::PointerAttribute::IsGpuDirectRdmaCapable, address);
  if(!asked)
    return asked;
  if(capable)
    return {};
  Error error = libraryError("CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE", LibraryCode::NotRdmaCapable);
  error.device = gpu.ordinal;
  return error;
}

} // namespace rdmagpu::backend::cuda
