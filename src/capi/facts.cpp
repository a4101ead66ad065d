#include <capi/call.hpp>
#include <capi/facts.hpp>
#include <capi/objects.hpp>

#include <limits>

using namespace rdmagpu;

namespace {

/// Null: no such reason.
const Error* reasonIn(const BufferFacts& facts, int32_t what) noexcept {
  switch(what) {
  case RDMAGPU_REASON_LOCK:
    return &facts.lockError;
  case RDMAGPU_REASON_PIN:
    return &facts.pinError;
  case RDMAGPU_REASON_CUDA_MEMORY:
    return &facts.cudaMemoryReason;
  case RDMAGPU_REASON_SYNC_MEMOPS:
    return &facts.syncMemopsError;
  default:
    return nullptr;
  }
}

} // namespace

namespace rdmagpu::capi {

rdmagpu_facts toC(const BufferFacts& facts) noexcept {
  return {.struct_size = 0,
          .api = static_cast<int32_t>(facts.api),
          .device = facts.device.c_str(),
          .pci = toC(facts.pci),
          .frame_bytes = facts.frameBytes,
          .requested_bytes = facts.requestedBytes,
          .committed_bytes = facts.committedBytes,
          .slot_stride = facts.slotStride,
          .region_count = facts.regionCount,
          .page_bytes = facts.pageBytes,
          .huge_page_bytes = facts.hugePageBytes,
          .resident_bytes = facts.residentBytes,
          .locked_bytes = facts.lockedBytes,
          .bar1_bytes = facts.bar1Bytes,
          .bar1_free_bytes = facts.bar1FreeBytes.value_or(std::numeric_limits<uint64_t>::max()),
          .bar1_slots = facts.bar1Slots.value_or(std::numeric_limits<uint32_t>::max()),
          .slot_count = facts.slotCount,
          .pinned_by = static_cast<int32_t>(facts.pinnedBy),
          .numa_node = facts.numaNode,
          .direct_for_gpu = static_cast<int32_t>(facts.directForGpu),
          .rdma_capable = static_cast<int32_t>(facts.rdmaCapable),
          .cuda_memory = static_cast<int32_t>(facts.cudaMemory),
          .sync_memops = static_cast<int32_t>(facts.syncMemops),
          .memfd = facts.memfd ? 1U : 0U,
          .writes_need_flush = facts.writesNeedFlush ? 1U : 0U,
          .p2pmem_bytes = facts.p2pmemBytes,
          .p2pmem_free_bytes = facts.p2pmemFreeBytes,
          .writes_ordered_for_all = static_cast<int32_t>(facts.writesOrderedForAll),
          .reserved = 0};
}

} // namespace rdmagpu::capi

extern "C" {

const char* rdmagpu_pinned_by_name(int32_t by) { return capi::nameOf(by, PinnedBy::LevelZero); }
const char* rdmagpu_cuda_memory_name(int32_t kind) { return capi::nameOf(kind, CudaMemory::MemAlloc); }
const char* rdmagpu_agent_name(int32_t agent) { return capi::nameOf(agent, Agent::Device); }

int rdmagpu_buffer_facts(const rdmagpu_buffer* buffer, rdmagpu_facts* facts, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_facts", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_facts", buffer); !given)
      return given;
    return capi::write("rdmagpu_buffer_facts", capi::toC(buffer->value.facts()), facts);
  });
}

int rdmagpu_buffer_reason(const rdmagpu_buffer* buffer, int32_t what, rdmagpu_error* reason,
                          rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_reason", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_reason", buffer); !given)
      return given;
    const Error* found = reasonIn(buffer->value.facts(), what);
    if(!found)
      return libraryError("rdmagpu_buffer_reason", LibraryCode::ValueUnknown, static_cast<uint32_t>(what),
                          RDMAGPU_REASON_SYNC_MEMOPS);
    return capi::write("rdmagpu_buffer_reason", capi::toC(*found), reason);
  });
}

size_t rdmagpu_buffer_tolerated_count(const rdmagpu_buffer* buffer) {
  return buffer ? buffer->value.facts().tolerated.size() : 0;
}

bool rdmagpu_buffer_tolerated(const rdmagpu_buffer* buffer, size_t index, rdmagpu_error* failure) {
  if(index >= rdmagpu_buffer_tolerated_count(buffer))
    return false;
  return capi::write("rdmagpu_buffer_tolerated", capi::toC(buffer->value.facts().tolerated[index]), failure)
      .has_value();
}

size_t rdmagpu_buffer_rejected_count(const rdmagpu_buffer* buffer) {
  return buffer ? buffer->value.selection().size() : 0;
}

bool rdmagpu_buffer_rejected(const rdmagpu_buffer* buffer, size_t index, int32_t* api, rdmagpu_error* why) {
  if(!api || index >= rdmagpu_buffer_rejected_count(buffer))
    return false;
  const Rejected& rejected = buffer->value.selection()[index];
  if(!capi::write("rdmagpu_buffer_rejected", capi::toC(rejected.error), why))
    return false;
  *api = static_cast<int32_t>(rejected.api);
  return true;
}

int rdmagpu_buffer_proof(const rdmagpu_buffer* buffer, rdmagpu_proof* proof, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_proof", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_proof", buffer); !given)
      return given;
    return capi::write("rdmagpu_buffer_proof", capi::toC(buffer->value.proof()), proof);
  });
}

} // extern "C"
