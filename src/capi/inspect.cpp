#include <capi/call.hpp>
#include <capi/objects.hpp>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(MemoryKind::PinnedHost) == RDMAGPU_MEMORY_PINNED_HOST);

rdmagpu_memory_facts toC(const MemoryFacts& facts) noexcept {
  const GpuMemoryFacts gpu = facts.gpu.value_or(GpuMemoryFacts{});
  return {.struct_size = 0,
          .kind = static_cast<int32_t>(facts.kind),
          .peer_usable = static_cast<int32_t>(facts.peerUsable),
          .gpu = facts.gpu ? 1U : 0U,
          .page_bytes = facts.pageBytes,
          .resident_bytes = facts.residentBytes,
          .locked_bytes = facts.lockedBytes,
          .readable = facts.readable ? 1U : 0U,
          .writable = facts.writable ? 1U : 0U,
          .aligned_64k = facts.aligned64K ? 1U : 0U,
          .copied_on_fork = facts.copiedOnFork ? 1U : 0U,
          .gpu_api = static_cast<int32_t>(gpu.api),
          .gpu_ordinal = gpu.ordinal,
          .gpu_pci = capi::toC(gpu.pci),
          .gpu_allocation = gpu.allocation,
          .gpu_allocation_bytes = gpu.allocationBytes,
          .gpu_mapping_bytes = gpu.mappingBytes,
          .gpu_rdma_capable = static_cast<int32_t>(gpu.rdmaCapable),
          .gpu_exportable = static_cast<int32_t>(gpu.exportable),
          .gpu_sync_memops = static_cast<int32_t>(gpu.syncMemops),
          .reserved = 0};
}

} // namespace

extern "C" {

const char* rdmagpu_memory_kind_name(int32_t kind) { return capi::nameOf(kind, MemoryKind::PinnedHost); }

int rdmagpu_inspect(const void* pointer, size_t size, rdmagpu_memory_facts* facts, char* why, size_t whySize,
                    rdmagpu_error* error) {
  return capi::run("rdmagpu_inspect", error, [&]() -> Result<void> {
    const auto found = inspect(pointer, size);
    if(!found)
      return found.error();
    if(const auto written = capi::write("rdmagpu_inspect", toC(*found), facts); !written)
      return written;
    capi::copyText(found->why, why, whySize);
    return {};
  });
}

int rdmagpu_memory_create(const void* pointer, size_t size, rdmagpu_memory** memory, rdmagpu_error* error) {
  return capi::create("rdmagpu_memory_create", memory, error, [&] { return inspect(pointer, size); });
}

void rdmagpu_memory_destroy(rdmagpu_memory* memory) { delete memory; }

int rdmagpu_memory_facts_of(const rdmagpu_memory* memory, rdmagpu_memory_facts* facts, rdmagpu_error* error) {
  return capi::fill("rdmagpu_memory_facts_of", memory, facts, error,
                    [](const rdmagpu_memory& m) { return toC(m.value); });
}

const char* rdmagpu_memory_why(const rdmagpu_memory* memory) {
  return memory ? memory->value.why.c_str() : "";
}

const char* rdmagpu_memory_mapping(const rdmagpu_memory* memory) {
  return memory ? memory->value.mapping.c_str() : "";
}

const char* rdmagpu_memory_gpu_name(const rdmagpu_memory* memory) {
  return memory && memory->value.gpu ? memory->value.gpu->device.c_str() : "";
}

} // extern "C"
