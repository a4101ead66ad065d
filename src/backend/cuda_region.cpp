#include <backend/cuda_canaries.hpp>
#include <backend/cuda_copies.hpp>
#include <backend/cuda_region.hpp>
#include <base/align.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <os/fd_passing.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rdmagpu::backend::cuda {
namespace {

constexpr std::uint64_t mostSlots = std::numeric_limits<std::uint32_t>::max();

/// A driver that does not offer the mapping, or is older than it, needs another remedy than one that exports
/// nothing at all.
Error pcieRefusal(const Gpu& gpu, const Error& error) noexcept {
  const auto status = static_cast<api::Status>(error.code);
  if(status != api::Status::NotSupported && status != api::Status::InvalidValue)
    return error;
  Error refusal =
      libraryError("CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE", LibraryCode::NotPcieMappable, error.bytes);
  refusal.device = gpu.ordinal;
  return refusal;
}

/// Opens the memory, which is on the GPU `owner`, to another one.
Result<void> openTo(const api::Functions& cuda, int ordinal, const Gpu& owner, const VmmMemory& memory) {
  api::Device other{};
  if(const auto got = cuda.call(0, cuda.deviceGet, &other, ordinal); !got)
    return got;
  int reaches{};
  if(const auto told = cuda.call(0, cuda.deviceCanAccessPeer, &reaches, other, owner.device); !told)
    return told;
  return reaches ? memory.grantAccess(ordinal)
                 : libraryError(cuda.deviceCanAccessPeer.symbol(), LibraryCode::GpusApart);
}

} // namespace

/// Memory of that kind, whether peers reach it or not. What its making survives is added to `tolerated`.
Result<CudaRegion::Owned> CudaRegion::take(const Gpu& gpu, const Bar1& bar1, CudaMemory kind,
                                           const RegionRequest& request, std::vector<Error>& tolerated,
                                           const VulkanImporter* vulkan) {
  auto region = std::make_shared<CudaRegion>(gpu, bar1);
  if(kind == CudaMemory::Vmm) {
    auto memory = VmmMemory::allocate(gpu, request.config.rdma, request.bytes, tolerated);
    if(!memory)
      return memory.error();
    region->keep(*std::move(memory), request.bytes);
  } else {
    auto memory = PlainMemory::allocate(region->m_contexts, request.bytes);
    if(!memory)
      return memory.error();
    region->keep(*std::move(memory), request.bytes);
  }
  if(const auto also = vulkan ? region->aliasOn(*vulkan, tolerated) : Result<void>{}; !also)
    return also.error();
  region->askCapable(); // last: nothing is to take it away
  return region;
}

Result<void> CudaRegion::aliasOn(const VulkanImporter& vulkan, const std::vector<Error>& tolerated) {
  const auto* memory = std::get_if<VmmMemory>(&m_memory);
  if(!memory || !memory->shareable())
    return tolerated.empty() ? libraryError("RdmaGpuBuffer::make", LibraryCode::VulkanNeedsSharing)
                             : tolerated.back(); // why it is not
  auto fd = memory->share();
  if(!fd)
    return fd.error();
  auto alias = vulkan.import(*std::move(fd), m_bytes, memory->bytes());
  if(!alias)
    return alias.error();
  m_alias = *std::move(alias);
  return {};
}

std::optional<VulkanBuffer> CudaRegion::vulkanBuffer(std::size_t offset) const noexcept {
  return m_alias ? std::optional{m_alias->at(offset)} : std::nullopt;
}

template <class Memory>
void CudaRegion::keep(Memory memory, std::size_t bytes) {
  m_base = memory.address();
  m_bytes = bytes;
  m_memory.emplace<Memory>(std::move(memory));
}

void CudaRegion::askCapable() {
  const auto capable = checkCapable(m_gpu, m_base);
  if(capable)
    return;
  m_unreached = capable.error();
  m_unreached.device = m_gpu.ordinal;
  const bool answered = m_unreached.origin == Origin::Library;
  m_capable = answered ? Answer::No : Answer::Unknown;
}

/// Whatever the driver had said of such memory.
bool CudaRegion::isUnreachedVmm() const noexcept {
  return std::holds_alternative<VmmMemory>(m_memory) && m_gpu.rdmaWithVmm && m_capable == Answer::No;
}

std::size_t CudaRegion::committedBytes() const noexcept {
  const auto* vmm = std::get_if<VmmMemory>(&m_memory);
  const auto* plain = std::get_if<PlainMemory>(&m_memory);
  return vmm ? vmm->bytes() : plain ? plain->bytes() : 0;
}

/// Refuses memory that peers do not reach where they must, and else keeps it in mind.
Result<void> CudaRegion::accept(GpuRdma wanted) {
  if(m_capable == Answer::Yes)
    return {};
  if(wanted == GpuRdma::Require)
    return m_unreached;
  if(wanted == GpuRdma::Try || m_capable == Answer::Unknown)
    m_tolerated.push_back(m_unreached);
  return {};
}

/// Memory of cuMemAlloc, where that of virtual memory management came out unreachable and nobody had asked
/// for it. If peers do not reach that either, and need not, virtual memory management's again: it can be
/// shared, and needs no context.
Result<CudaRegion::Owned> CudaRegion::instead(const Gpu& gpu, const Bar1& bar1, const Error& unreached,
                                              const RegionRequest& request, std::vector<Error>& tolerated) {
  auto plain = take(gpu, bar1, CudaMemory::MemAlloc, request, tolerated);
  if(plain)
    (*plain)->m_memoryReason = unreached;
  const Answer reached = plain ? (*plain)->m_capable : Answer::Unknown;
  if(reached == Answer::Yes || request.config.rdma == GpuRdma::Require)
    return plain;
  if(reached == Answer::Unknown) {
    tolerated.push_back(plain ? (*plain)->m_unreached : plain.error());
    tolerated.back().device = gpu.ordinal;
  }
  if(plain)
    plain->reset(); // both need not fit
  return take(gpu, bar1, CudaMemory::Vmm, request, tolerated);
}

void CudaRegion::setSyncMemops() {
  const auto* vmm = std::get_if<VmmMemory>(&m_memory);
  const auto set = vmm ? vmm->setSyncMemops() : std::get_if<PlainMemory>(&m_memory)->setSyncMemops();
  if(set)
    return;
  m_syncMemopsError = set.error();
  m_syncMemopsError.device = m_gpu.ordinal;
}

Result<RegionPtr> CudaRegion::allocate(const Gpu& gpu, const Bar1& bar1, CudaMemory kind,
                                       const RegionRequest& request, const VulkanImporter* vulkan) {
  const GpuRdma rdma = request.config.rdma;
  const bool chosen = request.config.cudaMemory == CudaMemory::Auto && !vulkan;
  std::vector<Error> tolerated; // by each attempt
  auto taken = take(gpu, bar1, kind, request, tolerated, vulkan);
  if(taken && chosen && rdma != GpuRdma::Off && (*taken)->isUnreachedVmm()) {
    const Error unreached = (*taken)->m_unreached;
    taken->reset(); // both need not fit
    taken = instead(gpu, bar1, unreached, request, tolerated);
  } else if(taken && chosen && kind == CudaMemory::MemAlloc) {
    (*taken)->m_memoryReason = whyNotVmm(gpu);
  }
  if(taken)
    (*taken)->m_tolerated = std::move(tolerated);
  if(const auto accepted = taken ? (*taken)->accept(rdma) : Result<void>{taken.error()}; !accepted) {
    Error error = accepted.error();
    error.device = gpu.ordinal;
    return error;
  }
  const Owned region = *std::move(taken);
  region->setSyncMemops();
  if(request.config.zeroFill) {
    if(const auto cleared = region->clear(Keep::No, 0, region->m_bytes); !cleared)
      return cleared.error();
  }
  region->m_scrub = request.config.scrubOnDestroy;
  region->m_pcieMapping = request.config.pcieMapping;
  region->m_limitedByBar1 = request.config.rdma != GpuRdma::Off;
  if(region->m_limitedByBar1 && region->m_capable != Answer::No)
    region->m_reachable = countReachable(gpu, region->committedBytes());
  return RegionPtr{region};
}

Result<RegionPtr> CudaRegion::import(os::Fd fd, std::size_t bytes) {
  auto memory = VmmMemory::import(std::move(fd), bytes);
  if(!memory)
    return memory.error();
  const auto gpu = knownGpu(loadedDriver(), memory->ordinal());
  if(!gpu)
    return gpu.error();
  auto region = std::make_shared<CudaRegion>(*gpu, readBar1(*gpu));
  region->keep(*std::move(memory), bytes);
  region->setSyncMemops();
  region->askCapable();
  if(region->m_capable == Answer::Unknown) // the question failed
    return region->m_unreached;
  // Measured: the driver answers 0 of memory that was imported, in whatever way it was made.
  if(const auto accepted = region->accept(GpuRdma::Try); !accepted)
    return accepted.error();
  return RegionPtr{std::move(region)};
}

CudaRegion::~CudaRegion() {
  if(!m_scrub || inForkedChild())
    return;
  if(const auto cleared = clear(Keep::No, 0, m_bytes); !cleared)
    log(LogLevel::Failure, "slots were given back without being overwritten", cleared.error());
}

Result<void> CudaRegion::clear(Keep keep, std::size_t offset, std::size_t bytes) const noexcept {
  const api::Functions& cuda = loadedDriver();
  const unsigned char zero = 0;
  return m_contexts.run(keep, [&]() -> Result<void> {
    if(const auto set = cuda.call(bytes, cuda.memsetD8, m_base + offset, zero, bytes); !set)
      return set;
    return cuda.call(0, cuda.streamSynchronize, api::Stream{}); // a memset may return before it is done
  });
}

void* CudaRegion::address(std::size_t offset) const noexcept {
  return reinterpret_cast<void*>(m_base + offset); // score's gpuVA: a number in a pointer's place
}

Result<void> CudaRegion::upload(std::size_t offset, std::span<const std::byte> from) const {
  if(from.empty())
    return {};
  const api::Functions& cuda = loadedDriver();
  return m_contexts.run(Keep::Yes, [&]() -> Result<void> {
    const void* const source = from.data();
    if(const auto copied = cuda.call(from.size(), cuda.memcpyHtoD, m_base + offset, source, from.size());
       !copied)
      return copied;
    // From pageable memory the copy returns once the bytes are staged; a peer would read what was there.
    return cuda.call(0, cuda.streamSynchronize, api::Stream{});
  });
}

Result<void> CudaRegion::download(std::size_t offset, std::span<std::byte> to) const {
  if(to.empty())
    return {};
  const api::Functions& cuda = loadedDriver();
  return m_contexts.run(Keep::Yes, [&] {
    void* const target = to.data();
    return cuda.call(to.size(), cuda.memcpyDtoH, target, m_base + offset, to.size());
  });
}

Result<void> CudaRegion::flushPeerWrites() const {
  const bool others = m_othersRead;
  if(others ? writesOrderedForAll() : !writesNeedFlush())
    return {};
  const api::Functions& cuda = loadedDriver();
  const auto scope = others ? api::FlushScope::ToAllDevices : api::FlushScope::ToOwner;
  return m_contexts.run(Keep::Yes, [&] {
    return cuda.call(0, cuda.flushGpuDirectRdmaWrites, api::FlushTarget::CurrentContext, scope);
  });
}

Result<void> CudaRegion::exportMapped(std::size_t offset, std::size_t bytes, int& number,
                                      ExportedFd& exported) const noexcept {
  const api::Functions& cuda = loadedDriver();
  const auto map = [&](unsigned long long flags) {
    return cuda.call(bytes, cuda.memGetHandleForAddressRange, static_cast<void*>(&number), m_base + offset,
                     bytes, api::RangeHandleType::DmaBufFd, flags);
  };
  if(m_pcieMapping == PcieMapping::Off)
    return map(0);
  if(const auto throughPcie = map(api::dmaBufMappingTypePcie); !throughPcie) {
    exported.pcieError = pcieRefusal(m_gpu, throughPcie.error());
    return m_pcieMapping == PcieMapping::Require ? Result<void>{exported.pcieError} : map(0);
  }
  exported.pcieMapped = true;
  return {};
}

Result<std::uint64_t> CudaRegion::checksum(std::size_t offset, std::size_t bytes) const {
  return m_kernels.checksum(m_base + offset, bytes);
}

Result<void> CudaRegion::poison(std::size_t offset, std::size_t bytes, std::uint64_t seed) const {
  return m_kernels.poison(m_base + offset, bytes, seed);
}

Result<void> CudaRegion::clear(std::size_t offset, std::size_t bytes) const {
  return clear(Keep::Yes, offset, bytes);
}

Result<ExportedFd> CudaRegion::exportDmaBuf(std::size_t offset, std::size_t bytes) const {
  if(const auto offered = checkExportable(m_gpu); !offered) {
    Error error = offered.error();
    error.bytes = bytes;
    return error;
  }
  int number = -1;
  ExportedFd exported;
  const auto mapped = m_contexts.run(Keep::No, [&] { // the descriptor outlives the context
    return exportMapped(offset, bytes, number, exported);
  });
  if(!mapped)
    return mapped.error();
  exported.fd = os::Fd{number};
  exported.exact = true; // measured
  if(const auto set = os::setInheritable(number, false); !set)
    return set.error();
  return exported;
}

Result<os::Fd> CudaRegion::share() const {
  const auto* memory = std::get_if<VmmMemory>(&m_memory);
  if(!memory || !memory->shareable())
    return Region::share();
  return memory->share();
}

Result<void> CudaRegion::grantAccess(const GpuSelector& named) const {
  constexpr const char* call = "RdmaGpuBuffer::grantAccess";
  if(const auto process = checkProcess(); !process)
    return process;
  const auto* memory = std::get_if<VmmMemory>(&m_memory);
  if(!memory)
    return libraryError(call, LibraryCode::AccessPerContext);
  const api::Functions& cuda = loadedDriver();
  const auto ordinal = chooseGpu(call, cuda, named, 0);
  if(!ordinal)
    return ordinal.error();
  if(*ordinal == m_gpu.ordinal)
    return {};
  const auto granted = openTo(cuda, *ordinal, m_gpu, *memory);
  if(granted) {
    m_othersRead = true;
    return {};
  }
  Error error = granted.error();
  error.device = *ordinal;
  return error;
}

Result<std::unique_ptr<Copies>> CudaRegion::openCopies(const CopiesRequest& request) const {
  return CudaCopies::open(m_contexts, m_gpu.device, m_base, request);
}

Result<std::unique_ptr<Canaries>> CudaRegion::openCanaries(std::span<const CanarySlot> slots) const {
  return CudaCanaries::open(m_kernels, m_base, writesNeedFlush(), slots);
}

void CudaRegion::describe(BufferFacts& facts) const {
  facts.device = m_gpu.name;
  facts.pci = m_gpu.pci;
  if(const auto* vmm = std::get_if<VmmMemory>(&m_memory)) {
    facts.cudaMemory = CudaMemory::Vmm;
    facts.pageBytes = vmm->granularity();
  } else {
    facts.cudaMemory = CudaMemory::MemAlloc;
    facts.pageBytes = gpuPageBytes;
  }
  facts.committedBytes += committedBytes();
  facts.residentBytes += committedBytes();
  facts.bar1Bytes = m_bar1.bytes;
  facts.bar1FreeBytes = m_bar1.freeBytes;
  if(m_bar1.freeBytes && m_limitedByBar1)
    facts.bar1Slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        usableOf(lessReserve(*m_bar1.freeBytes), facts.cudaMemory, facts.pageBytes) / facts.slotStride,
        mostSlots));
  facts.directForGpu = Answer::Yes;
  facts.rdmaCapable = m_capable;
  facts.writesNeedFlush = writesNeedFlush();
  facts.writesOrderedForAll = writesOrderedForAll() ? Answer::Yes : Answer::No;
  const bool synchronous = m_syncMemopsError.kind == Errc::None;
  facts.syncMemops = synchronous ? Answer::Yes : Answer::No;
  facts.syncMemopsError = m_syncMemopsError;
  facts.cudaMemoryReason = m_memoryReason;
  facts.alsoVulkan = m_alias != nullptr;
  facts.tolerated.insert(facts.tolerated.end(), m_tolerated.begin(), m_tolerated.end());
}

} // namespace rdmagpu::backend::cuda
