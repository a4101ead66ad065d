#include <capi/call.hpp>
#include <capi/objects.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/poison.hpp>

using namespace rdmagpu;

extern "C" {

const char* rdmagpu_api_name(int32_t api) {
  return api == RDMAGPU_API_AUTO ? name(RdmaGpuApi::Auto) : capi::nameOf(api, RdmaGpuApi::PciP2p);
}

bool rdmagpu_api_named(const char* text, int32_t* api) {
  const auto named = text ? apiNamed(text) : std::nullopt;
  if(named && api)
    *api = static_cast<int32_t>(*named);
  return named && api;
}

const char* rdmagpu_handoff_name(int32_t kind) { return capi::nameOf(kind, HandoffKind::DmaBuf); }

void* rdmagpu_handoff_cpu_address(int32_t kind, uint64_t handoff) {
  const auto known = capi::handoff("rdmagpu_handoff_cpu_address", kind, handoff);
  return known ? cpuAddress(*known) : nullptr;
}

int rdmagpu_max_slots(const rdmagpu_config* config, uint32_t* slots, rdmagpu_error* error) {
  return capi::run("rdmagpu_max_slots", error, [&]() -> Result<void> {
    const auto wanted = capi::readConfig("rdmagpu_max_slots", config);
    if(!wanted)
      return wanted.error();
    if(const auto given = capi::checkPointers("rdmagpu_max_slots", slots); !given)
      return given;
    const auto most = RdmaGpuBuffer::maxSlots(*wanted);
    if(!most)
      return most.error();
    *slots = *most;
    return {};
  });
}

int rdmagpu_buffer_create(const rdmagpu_config* config, rdmagpu_buffer** buffer, rdmagpu_error* error) {
  return capi::create("rdmagpu_buffer_create", buffer, error, [&]() -> Result<RdmaGpuBuffer> {
    const auto wanted = capi::readConfig("rdmagpu_buffer_create", config);
    if(!wanted)
      return wanted.error();
    return RdmaGpuBuffer::make(*wanted);
  });
}

void rdmagpu_buffer_destroy(rdmagpu_buffer* buffer) { capi::destroy(buffer); }

uint32_t rdmagpu_buffer_slot_count(const rdmagpu_buffer* buffer) {
  return buffer ? static_cast<uint32_t>(buffer->value.slotCount()) : 0;
}

int rdmagpu_buffer_slot(const rdmagpu_buffer* buffer, uint32_t index, rdmagpu_slot* slot,
                        rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_slot", error, [&]() -> Result<void> {
    constexpr const char* call = "rdmagpu_buffer_slot";
    if(const auto given = capi::checkPointers(call, buffer, slot); !given)
      return given;
    const RdmaGpuBuffer& value = buffer->value;
    if(index >= value.slotCount())
      return libraryError(call, LibraryCode::SlotOutOfRange, index, value.slotCount());
    const RdmaGpuSlot at = value.slot(index);
    const Handoff handoff = value.handoff(index);
    return capi::write(call,
                       rdmagpu_slot{.struct_size = 0,
                                    .handoff_kind = static_cast<int32_t>(kind(handoff)),
                                    .handoff = addressBits(handoff),
                                    .size = at.size,
                                    .offset = value.slotOffset(index),
                                    .opaque = at.opaque},
                       slot);
  });
}

int rdmagpu_buffer_upload(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t offset, const void* from,
                          size_t bytes, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_upload", error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes("rdmagpu_buffer_upload", buffer, from, bytes); !given)
      return given;
    return buffer->value.upload(slot, capi::bytesAt(from, bytes), offset);
  });
}

int rdmagpu_buffer_download(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t offset, void* to,
                            size_t bytes, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_download", error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes("rdmagpu_buffer_download", buffer, to, bytes); !given)
      return given;
    return buffer->value.download(slot, capi::bytesAt(to, bytes), offset);
  });
}

int rdmagpu_buffer_flush_peer_writes(const rdmagpu_buffer* buffer, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_flush_peer_writes", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_flush_peer_writes", buffer); !given)
      return given;
    return buffer->value.flushPeerWrites();
  });
}

int rdmagpu_buffer_checksum(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t offset, size_t bytes,
                            uint64_t* sum, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_checksum", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_checksum", buffer, sum); !given)
      return given;
    const auto computed = buffer->value.checksum(slot, bytes, offset);
    if(!computed)
      return computed.error();
    *sum = *computed;
    return {};
  });
}

int rdmagpu_buffer_poison(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t seed, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_poison", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_poison", buffer); !given)
      return given;
    return buffer->value.poison(slot, seed);
  });
}

int rdmagpu_buffer_clear(const rdmagpu_buffer* buffer, uint32_t slot, rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_clear", error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers("rdmagpu_buffer_clear", buffer); !given)
      return given;
    return buffer->value.clear(slot);
  });
}

uint64_t rdmagpu_checksum(const void* bytes, size_t size) { return checksum(capi::bytesAt(bytes, size)); }
void rdmagpu_poison(void* bytes, size_t size, uint64_t seed) { poison(capi::bytesAt(bytes, size), seed); }

int rdmagpu_buffer_grant_access(const rdmagpu_buffer* buffer, const rdmagpu_gpu_selector* gpu,
                                rdmagpu_error* error) {
  return capi::run("rdmagpu_buffer_grant_access", error, [&]() -> Result<void> {
    constexpr const char* call = "rdmagpu_buffer_grant_access";
    if(const auto given = capi::checkPointers(call, buffer, gpu); !given)
      return given;
    const auto selector = capi::fromC(call, *gpu);
    return selector ? buffer->value.grantAccess(*selector) : selector.error();
  });
}

int rdmagpu_buffer_keep_alive(const rdmagpu_buffer* buffer, uint32_t slot, rdmagpu_keep_alive** kept,
                              rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_buffer_keep_alive";
  return capi::create(call, kept, error, [&]() -> Result<std::shared_ptr<const void>> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    auto region = buffer->value.keepAlive(slot);
    if(!region)
      return libraryError(call, LibraryCode::SlotOutOfRange, slot, buffer->value.slotCount());
    return region;
  });
}

void rdmagpu_keep_alive_release(rdmagpu_keep_alive* kept) { delete kept; }

} // extern "C"
