#include <backend/cuda_gpu.hpp>
#include <backend/cuda_inspect.hpp>
#include <base/library_error.hpp>

#include <algorithm>

namespace rdmagpu::backend::cuda {
namespace {

/// What the driver answers about one address. Remembers the first question that failed.
class Questions {
public:
  Questions(const api::Functions& cuda, api::DevicePtr address) noexcept : m_cuda(cuda), m_address(address) {}

  /// nullopt when the driver has no answer: it does not know the address, is older than the attribute, or
  /// nobody uses it.
  template <class T>
  std::optional<T> ask(api::PointerAttribute which) noexcept {
    T value{};
    const api::Status status = m_cuda.pointerGetAttribute(&value, which, m_address);
    if(status == api::Status::Success)
      return value;
    if(status != api::Status::InvalidValue && status != api::Status::NotInitialized && m_outcome)
      m_outcome = m_cuda.failure(m_cuda.pointerGetAttribute.symbol(), status, 0);
    return {};
  }
  Answer askWhether(api::PointerAttribute which) noexcept {
    const auto value = ask<std::uint32_t>(which);
    return !value ? Answer::Unknown : *value != 0 ? Answer::Yes : Answer::No;
  }
  const Result<void>& outcome() const noexcept { return m_outcome; }

private:
  const api::Functions& m_cuda;
  api::DevicePtr m_address;
  Result<void> m_outcome;
};

struct Allocation {
  MemoryKind kind{};
  api::DevicePtr start{};
  std::uint64_t bytes{};
  std::uint64_t mappingBytes{};
  int ordinal{};
  Answer capable{};
  Answer syncMemops{};

  api::DevicePtr end() const noexcept { return start + bytes; }
};

MemoryKind kindOf(Questions& questions, api::MemoryType type) noexcept {
  using A = api::PointerAttribute;
  if(questions.askWhether(A::IsManaged) == Answer::Yes)
    return MemoryKind::Managed;
  if(type == api::MemoryType::Host)
    return MemoryKind::PinnedHost;
  if(questions.ask<std::uint64_t>(A::MempoolHandle).value_or(0) != 0)
    return MemoryKind::GpuPool;
  // Measured: only what cuMemCreate made, and pools, are of no context.
  return questions.ask<std::uint64_t>(A::OwningContext).value_or(0) != 0 ? MemoryKind::Gpu
                                                                         : MemoryKind::GpuVirtual;
}

/// The allocation that holds the address; nullopt when the driver knows none.
Result<std::optional<Allocation>> allocationAt(const api::Functions& cuda, api::DevicePtr address) {
  using A = api::PointerAttribute;
  Questions questions{cuda, address};
  const auto type = questions.ask<api::MemoryType>(A::MemoryType);
  if(!questions.outcome())
    return questions.outcome().error();
  if(!type)
    return std::optional<Allocation>{};
  Allocation found{.kind = kindOf(questions, *type),
                   .start = questions.ask<std::uint64_t>(A::RangeStartAddr).value_or(address),
                   .bytes = questions.ask<std::uint64_t>(A::RangeSize).value_or(0),
                   .mappingBytes = questions.ask<std::uint64_t>(A::MappingSize).value_or(0),
                   .ordinal = questions.ask<int>(A::DeviceOrdinal).value_or(0),
                   .capable = questions.askWhether(A::IsGpuDirectRdmaCapable),
                   .syncMemops = questions.askWhether(A::SyncMemops)};
  if(!questions.outcome())
    return questions.outcome().error();
  return std::optional{found};
}

/// Adds the mappings behind it, which may be one range for their user, until they reach `end`.
Result<void> growTo(api::DevicePtr end, const api::Functions& cuda, Allocation& all) {
  while(all.kind == MemoryKind::GpuVirtual && all.end() < end) {
    const auto next = allocationAt(cuda, all.end());
    if(!next)
      return next.error();
    const bool goesOn = *next && (*next)->kind == all.kind && (*next)->start == all.end() &&
                        (*next)->bytes != 0 && (*next)->ordinal == all.ordinal;
    if(!goesOn)
      return {};
    all.bytes += (*next)->bytes;
    all.capable = std::min(all.capable, (*next)->capable); // Unknown, then No
  }
  return {};
}

/// Whether a peer can use it is the driver's word; this is the reason for it.
const char* whyCapable(Answer capable, MemoryKind kind, const Gpu& gpu) noexcept {
  if(capable == Answer::Yes)
    return "the driver lets peers reach it";
  if(capable == Answer::Unknown)
    return "the driver is too old to say whether peers can reach it";
  if(kind == MemoryKind::Managed)
    return "managed memory moves between the host and GPUs while a peer uses it; cuMemAlloc's does not";
  if(kind == MemoryKind::GpuPool)
    return "the driver lets no peer reach memory of this pool; cuMemAlloc's it does";
  if(gpu.rdma && kind == MemoryKind::GpuVirtual)
    return "the driver lets no peer reach memory that was made without gpuDirectRDMACapable; what another "
           "process has shared, only that process can hand to a peer";
  return "the driver lets no peer reach the memory of this GPU";
}

MemoryFacts factsOf(const Allocation& found, const Gpu& gpu) {
  const bool onGpu = found.kind != MemoryKind::Managed && found.kind != MemoryKind::PinnedHost;
  return {.kind = found.kind,
          .readable = !onGpu,
          .writable = !onGpu,
          .peerUsable = found.capable,
          .why = whyCapable(found.capable, found.kind, gpu),
          .gpu = GpuMemoryFacts{.api = RdmaGpuApi::Cuda,
                                .device = gpu.name,
                                .ordinal = gpu.ordinal,
                                .pci = gpu.pci,
                                .allocation = found.start,
                                .allocationBytes = found.bytes,
                                .mappingBytes = found.mappingBytes,
                                .rdmaCapable = found.capable,
                                .exportable = onGpu && gpu.dmaBuf ? Answer::Yes : Answer::No,
                                .syncMemops = found.syncMemops}};
}

} // namespace

Result<std::optional<MemoryFacts>> inspectMemory(std::uintptr_t begin, std::size_t bytes) {
  const api::Functions* cuda = driverOfThisProcess();
  if(!cuda)
    return std::optional<MemoryFacts>{};
  auto found = allocationAt(*cuda, begin);
  if(!found)
    return found.error();
  if(!*found)
    return std::optional<MemoryFacts>{};
  Allocation& all = **found;
  if(const auto grown = growTo(begin + bytes, *cuda, all); !grown)
    return grown.error();
  const bool sizeKnown = all.bytes != 0; // not by drivers older than the question
  if(sizeKnown && begin + bytes > all.end()) {
    if(all.kind == MemoryKind::PinnedHost) // memory of the process, pinned in part: the kernel's to tell
      return std::optional<MemoryFacts>{};
    Error error = libraryError("inspect", LibraryCode::PastAllocation, bytes, all.end() - begin);
    error.device = all.ordinal;
    return error;
  }
  const auto gpu = describeGpu(*cuda, all.ordinal);
  if(!gpu)
    return gpu.error();
  return std::optional{factsOf(all, *gpu)};
}

} // namespace rdmagpu::backend::cuda
