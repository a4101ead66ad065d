#include "json.hpp"

namespace rdmagpu::cli {
namespace {

Json tolerated(const BufferFacts& facts) {
  Json list = Json::array();
  for(const Error& error : facts.tolerated)
    list.push_back(toJson(failureOf(error)));
  return list;
}

} // namespace

Json toJson(const BufferFacts& facts) {
  Json json;
  json["device"] = facts.device;
  json["pci"] = facts.pci ? Json(facts.pci->text()) : Json();
  json["slot_count"] = facts.slotCount;
  json["frame_bytes"] = facts.frameBytes;
  json["requested_bytes"] = facts.requestedBytes;
  json["committed_bytes"] = facts.committedBytes;
  json["slot_stride"] = facts.slotStride;
  json["region_count"] = facts.regionCount;
  json["page_bytes"] = facts.pageBytes;
  json["huge_page_bytes"] = facts.hugePageBytes;
  json["resident_bytes"] = facts.residentBytes;
  json["locked"] = facts.lockedBytes != 0 && facts.lockError.kind == Errc::None;
  json["locked_bytes"] = facts.lockedBytes;
  json["lock_error"] = facts.lockError.kind == Errc::None ? Json() : toJson(failureOf(facts.lockError));
  json["pinned_by"] = name(facts.pinnedBy);
  json["pin_error"] = facts.pinError.kind == Errc::None ? Json() : toJson(failureOf(facts.pinError));
  json["numa_node"] = facts.numaNode < 0 ? Json() : Json(facts.numaNode);
  json["memfd"] = facts.memfd;
  json["bar1_bytes"] = facts.bar1Bytes;
  json["bar1_free_bytes"] = facts.bar1FreeBytes ? Json(*facts.bar1FreeBytes) : Json();
  json["bar1_slots"] = facts.bar1Slots ? Json(*facts.bar1Slots) : Json();
  json["p2pmem_bytes"] = facts.p2pmemBytes;
  json["p2pmem_free_bytes"] = facts.p2pmemFreeBytes;
  json["direct_for_gpu"] = name(facts.directForGpu);
  json["rdma_capable"] = name(facts.rdmaCapable);
  json["writes_need_flush"] = facts.writesNeedFlush;
  json["writes_ordered_for_all"] = name(facts.writesOrderedForAll);
  json["cuda_memory"] = facts.cudaMemory == CudaMemory::Auto ? Json() : Json(name(facts.cudaMemory));
  json["cuda_memory_reason"] =
      facts.cudaMemoryReason.kind == Errc::None ? Json() : toJson(failureOf(facts.cudaMemoryReason));
  json["sync_memops"] = name(facts.syncMemops);
  json["sync_memops_error"] =
      facts.syncMemopsError.kind == Errc::None ? Json() : toJson(failureOf(facts.syncMemopsError));
  json["tolerated"] = tolerated(facts);
  return json;
}

} // namespace rdmagpu::cli
