#include <backend/registry.hpp>
#include <base/enum_value.hpp>
#include <base/library_error.hpp>
#include <core/buffer_state.hpp>
#include <core/dma_buf.hpp>
#include <os/pci.hpp>
#include <os/process.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace rdmagpu::core {
namespace {

/// Why Auto may not use a backend for a peer that accepts those handoffs. Memory whose addresses are not
/// among them goes as a dma-buf.
std::optional<Error> unfit(const char* call, const backend::Backend& backend,
                           const RdmaGpuBufferConfig& config) {
  const Handoffs& accepted = config.accepts;
  if(!accepted.contains(backend.handoffKind()) && !accepted.contains(HandoffKind::DmaBuf))
    return libraryError(call, LibraryCode::PeerCannotAddress);
  return {};
}

/// Memory of whichever device happens to have some is nothing that Auto may guess at: it must be asked for.
/// So is memory that only a program of Vulkan's can use.
bool isForAuto(const backend::Backend& backend) noexcept {
  const RdmaGpuApi api = backend.api();
  return api != RdmaGpuApi::PciP2p && api != RdmaGpuApi::Vulkan && api != RdmaGpuApi::VulkanDmaBuf;
}

bool goesAsDmaBuf(const backend::Backend& backend, const RdmaGpuBufferConfig& config) noexcept {
  return config.api == RdmaGpuApi::Auto && !config.accepts.contains(backend.handoffKind());
}

/// Exports all slots, for exportRegion() to find; or one, where a region is too large for that, or is one
/// slot's. That a driver offers exports is no proof.
Result<void> proveExport(const char* call, BufferState& state) {
  const backend::Region& first = *state.regions.front();
  const SlotLayout& layout = state.layout;
  const bool one = state.regions.size() == 1;
  auto exported = exportRange(call, first, 0, one ? layout.totalBytes() : layout.stride);
  if(!exported && (!one || !exportRange(call, first, 0, layout.stride)))
    return exported.error();
  state.exported = Answer::Yes;
  if(exported && one)
    state.regionExport = *std::move(exported);
  return {};
}

Error namedAs(const char* call, Error error) noexcept {
  if(*error.call == '\0')
    error.call = call;
  return error;
}

/// Each choice that a backend makes by a value.
Result<void> checkValues(const RdmaGpuBufferConfig& config) noexcept {
  const Result<void> checks[] = {
      checkValue("HostMemory::lock", config.host.lock, PageLock::Off),
      checkValue("HostMemory::hugePages", config.host.hugePages, HugePages::Require),
      checkValue("HostMemory::gpuPin", config.host.gpuPin, GpuPin::Require),
      checkValue("RdmaGpuBufferConfig::cudaMemory", config.cudaMemory, CudaMemory::MemAlloc),
      checkValue("RdmaGpuBufferConfig::pcieMapping", config.pcieMapping, PcieMapping::Require),
      checkValue("RdmaGpuBufferConfig::rdma", config.rdma, GpuRdma::Off)};
  for(const Result<void>& checked : checks) {
    if(!checked)
      return checked;
  }
  return {};
}

/// Without a device at that address its nearest GPU or memory would be a guess.
Result<void> checkPeer(const char* call, const RdmaGpuBufferConfig& config) {
  if(!config.peer || !os::isAbsent(*config.peer))
    return {};
  Error error = libraryError(call, LibraryCode::PeerNotFound);
  error.pci = config.peer;
  return error;
}

/// An error of the request itself, which no other backend would answer differently.
bool isOfTheRequest(const Error& error) noexcept {
  return error.kind == Errc::InvalidArgument && error.origin == Origin::Library;
}

/// Whether a GPU was named and is not there. That is a mistake, which Auto must not answer with other memory.
bool isAbsentGpu(const RdmaGpuBufferConfig& config, const Error& error) noexcept {
  const bool named = !config.gpu.empty() || config.cudaDevice != 0;
  return named && error.origin == Origin::Library &&
         (error.code == static_cast<std::int64_t>(LibraryCode::DeviceOutOfRange) ||
          error.code == static_cast<std::int64_t>(LibraryCode::OrdinalNegative) ||
          error.code == static_cast<std::int64_t>(LibraryCode::DeviceNotFound));
}

/// The same of a backend that Auto passes over without a try.
Result<void> checkGpu(const backend::Backend& backend, const RdmaGpuBufferConfig& config) {
  if(config.gpu.empty() && config.cudaDevice == 0)
    return {};
  const auto opened = backend.open(config);
  return opened || !isAbsentGpu(config, opened.error()) ? Result<void>{} : opened.error();
}

Result<std::unique_ptr<BufferState>> buildWith(const char* call, const backend::Backend& backend,
                                               const RdmaGpuBufferConfig& config) {
  auto device = backend.open(config);
  if(!device)
    return device.error();
  return buildOn(call, backend.api(), **device, config);
}

/// The same for Auto, whose choice must suit the peer.
Result<std::unique_ptr<BufferState>> buildFitting(const char* call, const backend::Backend& backend,
                                                  const RdmaGpuBufferConfig& config) {
  if(!goesAsDmaBuf(backend, config))
    return buildWith(call, backend, config);
  auto device = backend.open(config);
  if(!device)
    return device.error();
  if(const auto may = (*device)->mayExport(config); !may)
    return namedAs(call, may.error());
  auto state = buildOn(call, backend.api(), **device, config);
  if(!state)
    return state;
  if(const auto proven = proveExport(call, **state); !proven)
    return proven.error();
  return state;
}

/// The request as the backends that Auto has left get it.
RdmaGpuBufferConfig whatIsLeft(const RdmaGpuBufferConfig& config, std::span<const Rejected> rejected) {
  RdmaGpuBufferConfig left = config;
  const bool integrated = std::any_of(rejected.begin(), rejected.end(), [](const Rejected& r) {
    return r.error.origin == Origin::Library &&
           r.error.code == static_cast<std::int64_t>(LibraryCode::IntegratedGpu);
  });
  if(integrated && left.host.gpuPin == GpuPin::Off)
    left.host.gpuPin = GpuPin::Try; // such a GPU's own memory is the system's
  return left;
}

/// Vulkan's memory would lose with peers what it gained with CUDA: measured, its import is not RDMA-capable.
LibraryCode whyNotAlias(RdmaGpuApi api) noexcept {
  const bool vulkans = api == RdmaGpuApi::Vulkan || api == RdmaGpuApi::VulkanDmaBuf;
  return vulkans ? LibraryCode::VulkanIntoCuda : LibraryCode::AlsoVulkanIsCudas;
}

/// The backends to try, in order: the one that is named, or all of them that give what is asked.
Result<std::span<const backend::Backend* const>> candidates(const char* call,
                                                            const RdmaGpuBufferConfig& config) {
  const auto all = backend::all();
  const bool onlyCuda = config.alsoVulkan && config.api == RdmaGpuApi::Auto;
  const RdmaGpuApi api = onlyCuda ? RdmaGpuApi::Cuda : config.api;
  if(api == RdmaGpuApi::Auto)
    return all;
  if(api == RdmaGpuApi::None)
    return libraryError(call, LibraryCode::ApiNone);
  if(const auto known = checkValue("RdmaGpuBufferConfig::api", api, RdmaGpuApi::PciP2p); !known)
    return known.error();
  if(config.alsoVulkan && api != RdmaGpuApi::Cuda)
    return libraryError(call, whyNotAlias(api));
  for(std::size_t i = 0; i < all.size(); ++i) {
    if(all[i]->api() == api)
      return all.subspan(i, 1);
  }
  return libraryError(call, LibraryCode::BackendAbsent);
}

} // namespace

void describe(BufferState& state, RdmaGpuApi api) {
  BufferFacts& facts = state.facts;
  facts.api = api;
  facts.slotCount = state.layout.slotCount;
  facts.frameBytes = state.layout.frameBytes;
  facts.requestedBytes = state.layout.frameBytes * state.layout.slotCount;
  facts.slotStride = state.layout.stride;
  facts.regionCount = state.regions.size();
  for(const RegionPtr& region : state.regions)
    region->describe(facts);
}

Result<std::unique_ptr<BufferState>> buildOn(const char* call, RdmaGpuApi api, backend::Device& device,
                                             const RdmaGpuBufferConfig& config) {
  const auto layout = layOut(call, config.slotCount, config.frameBytes, device.slotGranularity());
  if(!layout)
    return layout.error();
  const bool unchecked = config.ignoreBudget || device.driverKeepsBudget();
  if(const auto budget = unchecked ? std::nullopt : device.budget(config)) {
    if(layout->totalBytes() > budget->bytes)
      return libraryError(call, budget->exceeded, layout->totalBytes(), budget->bytes);
  }

  auto state = std::make_unique<BufferState>();
  state->layout = *layout;
  const std::size_t regions = device.oneRegionPerSlot() ? layout->slotCount : 1;
  const std::size_t bytes = device.oneRegionPerSlot() ? layout->stride : layout->totalBytes();
  state->regions.reserve(regions);
  for(std::size_t i = 0; i < regions; ++i) {
    auto region = device.allocate({bytes, config});
    if(!region) {
      Error error = region.error();
      if(regions > 1)
        error.slot = static_cast<std::int32_t>(i);
      return error;
    }
    state->regions.push_back(*std::move(region));
  }
  describe(*state, api);
  const auto process = os::identifyProcess();
  if(!process)
    return process.error();
  state->process = *process;
  return state;
}

Result<std::unique_ptr<BufferState>> build(const char* call, const RdmaGpuBufferConfig& config) {
  const auto backends = candidates(call, config);
  if(!backends)
    return backends.error();
  if(const auto checked = checkValues(config); !checked)
    return checked.error();
  if(const auto checked = checkPeer(call, config); !checked)
    return checked.error();
  if(config.api != RdmaGpuApi::Auto)
    return buildWith(call, *backends->front(), config);

  std::vector<Rejected> rejected;
  for(const backend::Backend* backend : *backends) {
    if(!isForAuto(*backend))
      continue;
    const auto mismatch = unfit(call, *backend, config);
    if(const auto gpu = mismatch ? checkGpu(*backend, config) : Result<void>{}; !gpu)
      return gpu.error();
    auto state = mismatch ? Result<std::unique_ptr<BufferState>>{*mismatch}
                          : buildFitting(call, *backend, whatIsLeft(config, rejected));
    if(state) {
      (*state)->selection = std::move(rejected);
      return state;
    }
    if(isOfTheRequest(state.error()) || isAbsentGpu(config, state.error()))
      return state.error();
    rejected.push_back({backend->api(), state.error()});
  }
  // One cause says more than "none fits", which is left for a peer that accepts no kind of handoff here.
  const bool tried = std::any_of(rejected.begin(), rejected.end(), [](const Rejected& r) {
    return r.error.code != static_cast<std::int64_t>(LibraryCode::PeerCannotAddress);
  });
  return tried ? rejected.back().error : libraryError(call, LibraryCode::NoBackendFits);
}

Result<std::uint32_t> countSlotsThatFit(const char* call, const RdmaGpuBufferConfig& config) {
  const auto backends = candidates(call, config);
  if(!backends)
    return backends.error();
  if(const auto checked = checkValues(config); !checked)
    return checked.error();
  Error last = libraryError(call, LibraryCode::NoBackendFits);
  for(const backend::Backend* backend : *backends) {
    if(config.api == RdmaGpuApi::Auto && !isForAuto(*backend))
      continue;
    if(config.api == RdmaGpuApi::Auto && unfit(call, *backend, config)) {
      if(const auto gpu = checkGpu(*backend, config); !gpu)
        return gpu.error();
      continue;
    }
    auto device = backend->open(config);
    if(!device) {
      last = device.error();
      if(isAbsentGpu(config, last))
        return last;
      continue;
    }
    if(goesAsDmaBuf(*backend, config)) {
      if(const auto may = (*device)->mayExport(config); !may) {
        last = namedAs(call, may.error());
        continue;
      }
    }
    const auto layout = layOut(call, 1, config.frameBytes, (*device)->slotGranularity());
    if(!layout)
      return layout.error();
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    const auto budget = (*device)->budget(config);
    return static_cast<std::uint32_t>(budget ? std::min(most, budget->bytes / layout->stride) : most);
  }
  return last;
}

} // namespace rdmagpu::core
