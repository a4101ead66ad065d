#include <base/enum_value.hpp>
#include <capi/convert.hpp>
#include <capi/structs.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu::capi {
namespace {

static_assert(static_cast<int>(Errc::Internal) == RDMAGPU_INTERNAL);
static_assert(static_cast<int>(Origin::CuFile) == RDMAGPU_ORIGIN_CUFILE);
static_assert(static_cast<int>(Answer::Yes) == RDMAGPU_YES);
static_assert(static_cast<int>(Agent::Device) == RDMAGPU_AGENT_DEVICE);
static_assert(static_cast<int>(RdmaGpuApi::HostFallback) == RDMAGPU_API_HOST);
static_assert(static_cast<int>(RdmaGpuApi::PciP2p) == RDMAGPU_API_PCI_P2P);
static_assert(static_cast<int>(RdmaGpuApi::Auto) == RDMAGPU_API_AUTO);
static_assert(static_cast<int>(HandoffKind::DmaBuf) == RDMAGPU_HANDOFF_DMA_BUF);
static_assert(static_cast<int>(PageLock::Off) == RDMAGPU_PAGE_LOCK_OFF);
static_assert(static_cast<int>(HugePages::Require) == RDMAGPU_HUGE_PAGES_REQUIRE);
static_assert(static_cast<int>(GpuPin::Require) == RDMAGPU_GPU_PIN_REQUIRE);
static_assert(static_cast<int>(CudaMemory::MemAlloc) == RDMAGPU_CUDA_MEMORY_MEM_ALLOC);
static_assert(static_cast<int>(PcieMapping::Require) == RDMAGPU_PCIE_MAPPING_REQUIRE);
static_assert(static_cast<int>(GpuRdma::Off) == RDMAGPU_GPU_RDMA_OFF);
static_assert(static_cast<int>(PinnedBy::LevelZero) == RDMAGPU_PINNED_BY_LEVEL_ZERO);

const char* textOrEmpty(const char* text) noexcept { return text ? text : ""; }

Result<RdmaGpuApi> readApi(std::int32_t number) noexcept {
  if(number == RDMAGPU_API_AUTO)
    return RdmaGpuApi::Auto;
  return value("rdmagpu_config::api", number, RdmaGpuApi::PciP2p);
}

} // namespace

Result<void> checkBits(const char* field, std::uint32_t bits, std::uint32_t known) noexcept {
  return (bits & ~known) == 0 ? Result<void>{} : libraryError(field, LibraryCode::ValueUnknown, bits, known);
}

Result<Handoffs> readAccepts(const char* field, std::uint32_t bits) noexcept {
  if(bits == 0)
    return Handoffs{};
  constexpr std::uint32_t known =
      RDMAGPU_ACCEPTS(RDMAGPU_HANDOFF_DMA_BUF + 1) - RDMAGPU_ACCEPTS(RDMAGPU_HANDOFF_HOST_POINTER);
  if(const auto good = checkBits(field, bits, known); !good)
    return good.error();
  Handoffs accepted{HandoffKind::None};
  for(auto kind = RDMAGPU_HANDOFF_HOST_POINTER; kind <= RDMAGPU_HANDOFF_DMA_BUF;
      kind = static_cast<rdmagpu_handoff_kind>(kind + 1)) {
    if((bits & RDMAGPU_ACCEPTS(kind)) != 0)
      accepted.add(static_cast<HandoffKind>(kind));
  }
  return accepted;
}

Result<Handoff> handoff(const char* field, std::int32_t kind, std::uint64_t bits) noexcept {
  const auto known = value(field, kind, HandoffKind::DmaBuf);
  if(!known)
    return known.error();
  const auto pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits));
  switch(*known) {
  case HandoffKind::None:
    return Handoff{};
  case HandoffKind::HostPointer:
    return Handoff{HostPointer{pointer}};
  case HandoffKind::CudaPointer:
    return Handoff{CudaPointer{bits}};
  case HandoffKind::VulkanRemoteAddress:
    return Handoff{VulkanRemoteAddress{pointer}};
  case HandoffKind::NvApiRdmaAddress:
    return Handoff{NvApiRdmaAddress{pointer}};
  case HandoffKind::HipPointer:
    return Handoff{HipPointer{pointer}};
  case HandoffKind::LevelZeroPointer:
    return Handoff{LevelZeroPointer{pointer}};
  case HandoffKind::PciMapping:
    return Handoff{PciMapping{pointer}};
  case HandoffKind::DmaBuf:
    return Handoff{DmaBufOnly{}};
  }
  return Handoff{};
}

rdmagpu_pci_address toC(const std::optional<PciAddress>& address) noexcept {
  if(!address)
    return {};
  return {.domain = address->domain,
          .bus = address->bus,
          .device = address->device,
          .function = address->function,
          .present = 1};
}

std::optional<PciAddress> fromC(const rdmagpu_pci_address& address) noexcept {
  if(address.present == 0)
    return {};
  return PciAddress{
      .domain = address.domain, .bus = address.bus, .device = address.device, .function = address.function};
}

rdmagpu_error toC(const Error& error) noexcept {
  rdmagpu_error c{.struct_size = sizeof(rdmagpu_error),
                  .kind = static_cast<std::int32_t>(error.kind),
                  .origin = static_cast<std::int32_t>(error.origin),
                  .device = error.device,
                  .code = error.code,
                  .call = error.call,
                  .code_name = error.codeName,
                  .finding = error.finding,
                  .bytes = error.bytes,
                  .available = error.available,
                  .slot = error.slot,
                  .has_uuid = error.uuid ? 1U : 0U,
                  .pci = toC(error.pci),
                  .uuid = {},
                  .fd = error.fd,
                  .has_fd = error.fd >= 0 ? 1U : 0U,
                  .total = error.total};
  if(error.uuid)
    std::memcpy(c.uuid, error.uuid->data(), sizeof c.uuid);
  return c;
}

Error fromC(const rdmagpu_error& c) noexcept {
  Error error{.kind = enumerator(c.kind, Errc::Internal).value_or(Errc::Internal),
              .origin = enumerator(c.origin, Origin::CuFile).value_or(Origin::Peer),
              .code = c.code,
              .call = textOrEmpty(c.call),
              .codeName = textOrEmpty(c.code_name),
              .finding = textOrEmpty(c.finding),
              .bytes = c.bytes,
              .available = c.available,
              .device = c.device,
              .slot = c.slot,
              .pci = fromC(c.pci),
              .fd = c.has_fd != 0 ? c.fd : -1,
              .total = c.total};
  if(c.has_uuid != 0)
    std::memcpy(error.uuid.emplace().data(), c.uuid, sizeof c.uuid);
  return error;
}

rdmagpu_proof toC(const Proof& proof) noexcept {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  return {.struct_size = sizeof(rdmagpu_proof),
          .allocated = number(proof.allocated),
          .capable = number(proof.capable),
          .exported = number(proof.exported),
          .registered = number(proof.registered),
          .written = number(proof.written),
          .read = number(proof.read),
          .by = number(proof.by)};
}

Result<GpuSelector> fromC(const char* call, const rdmagpu_gpu_selector& c) noexcept {
  constexpr std::uint32_t known =
      RDMAGPU_GPU_BY_ORDINAL | RDMAGPU_GPU_BY_PCI | RDMAGPU_GPU_BY_UUID | RDMAGPU_GPU_BY_LUID;
  if(const auto good = checkBits("rdmagpu_gpu_selector::named", c.named, known); !good)
    return good.error();
  GpuSelector gpu;
  if((c.named & RDMAGPU_GPU_BY_ORDINAL) != 0)
    gpu.ordinal = c.ordinal;
  if((c.named & RDMAGPU_GPU_BY_PCI) != 0) {
    gpu.pci = fromC(c.pci);
    if(!gpu.pci)
      return libraryError(call, LibraryCode::DeviceNotFound);
  }
  if((c.named & RDMAGPU_GPU_BY_UUID) != 0)
    std::memcpy(gpu.uuid.emplace().data(), c.uuid, sizeof c.uuid);
  if((c.named & RDMAGPU_GPU_BY_LUID) != 0)
    std::memcpy(gpu.luid.emplace().data(), c.luid, sizeof c.luid);
  return gpu;
}

Result<RdmaGpuBufferConfig> readConfig(const char* call, const rdmagpu_config* from) noexcept {
  const auto c = read(call, from);
  if(!c)
    return c.error();
  constexpr std::uint32_t flags = RDMAGPU_ZERO_FILL | RDMAGPU_SCRUB_ON_DESTROY | RDMAGPU_IGNORE_BUDGET |
                                  RDMAGPU_FORBID_MEMFD | RDMAGPU_BIND_NUMA_NODE;
  if(const auto good = checkBits("rdmagpu_config::flags", c->flags, flags); !good)
    return good.error();
  if(const auto good = checkBits("rdmagpu_config::reserved", c->reserved, 0); !good)
    return good.error();
  const auto api = readApi(c->api);
  const auto gpu = fromC(call, c->gpu);
  const auto accepts = readAccepts("rdmagpu_config::accepts", c->accepts);
  const auto lock = value("rdmagpu_config::page_lock", c->page_lock, PageLock::Off);
  const auto huge = value("rdmagpu_config::huge_pages", c->huge_pages, HugePages::Require);
  const auto pin = value("rdmagpu_config::gpu_pin", c->gpu_pin, GpuPin::Require);
  const auto memory = value("rdmagpu_config::cuda_memory", c->cuda_memory, CudaMemory::MemAlloc);
  const auto mapping = value("rdmagpu_config::pcie_mapping", c->pcie_mapping, PcieMapping::Require);
  const auto rdma = value("rdmagpu_config::rdma", c->rdma, GpuRdma::Off);
  Error first;
  const auto look = [&first](const auto& result) {
    if(!result && first.kind == Errc::None)
      first = result.error();
  };
  look(api), look(gpu), look(accepts), look(lock), look(huge), look(pin), look(memory), look(mapping),
      look(rdma);
  if(first.kind != Errc::None)
    return first;
  const bool bind = (c->flags & RDMAGPU_BIND_NUMA_NODE) != 0;
  return RdmaGpuBufferConfig{.api = *api,
                             .slotCount = c->slot_count,
                             .frameBytes = c->frame_bytes,
                             .cudaDevice = c->cuda_device,
                             .vulkanCtx = c->vulkan_ctx,
                             .d3d12Device = c->d3d12_device,
                             .gpu = *gpu,
                             .accepts = *accepts,
                             .peer = fromC(c->peer),
                             .zeroFill = (c->flags & RDMAGPU_ZERO_FILL) != 0,
                             .scrubOnDestroy = (c->flags & RDMAGPU_SCRUB_ON_DESTROY) != 0,
                             .ignoreBudget = (c->flags & RDMAGPU_IGNORE_BUDGET) != 0,
                             .host = {.lock = *lock,
                                      .hugePages = *huge,
                                      .numaNode = bind ? c->numa_node : -1,
                                      .forbidMemfd = (c->flags & RDMAGPU_FORBID_MEMFD) != 0,
                                      .gpuPin = *pin},
                             .cudaMemory = *memory,
                             .pcieMapping = *mapping,
                             .rdma = *rdma};
}

Result<VerifyOptions> readVerifyOptions(const char* call, const rdmagpu_verify_options* from) noexcept {
  VerifyOptions options;
  if(!from)
    return options;
  const auto c = read(call, from);
  if(!c)
    return c.error();
  if(const auto good = checkBits("rdmagpu_verify_options::reserved", c->reserved, 0); !good)
    return good.error();
  options.bytes = c->bytes;
  if(c->seed != 0)
    options.seed = c->seed;
  return options;
}

std::size_t copyText(std::string_view from, char* to, std::size_t size) noexcept {
  if(to && size != 0) {
    const std::size_t fits = std::min(from.size(), size - 1);
    std::memcpy(to, from.data(), fits);
    to[fits] = '\0';
  }
  return from.size();
}

} // namespace rdmagpu::capi
