#include <capi/call.hpp>
#include <capi/cufile_objects.hpp>
#include <capi/objects.hpp>
#include <capi/prove.hpp>

using namespace rdmagpu;

extern "C" {

int rdmagpu_cufile_peer_open(const rdmagpu_buffer* buffer, const char* path, int32_t use, uint32_t flags,
                             rdmagpu_cufile_peer** peer, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_peer_open";
  return capi::create(call, peer, error, [&]() -> Result<CuFilePeer> {
    if(const auto given = capi::checkPointers(call, buffer, path); !given)
      return given.error();
    const auto known = capi::value(call, use, CuFileUse::Off);
    if(!known)
      return known.error();
    if(const auto good = capi::checkBits(call, flags, RDMAGPU_CUFILE_OVERWRITE); !good)
      return good.error();
    return CuFilePeer::open(buffer->value, path,
                            {.cuFile = {.use = *known}, .overwrite = flags == RDMAGPU_CUFILE_OVERWRITE});
  });
}

void rdmagpu_cufile_peer_destroy(rdmagpu_cufile_peer* peer) { delete peer; }

int rdmagpu_cufile_peer_facts_of(const rdmagpu_cufile_peer* peer, rdmagpu_cufile_peer_facts* facts,
                                 rdmagpu_error* error) {
  return capi::fill("rdmagpu_cufile_peer_facts_of", peer, facts, error, [](const rdmagpu_cufile_peer& p) {
    return rdmagpu_cufile_peer_facts{.struct_size = 0,
                                     .agent = static_cast<int32_t>(p.value.agent()),
                                     .name = p.value.name(),
                                     .size = p.value.size(),
                                     .path = static_cast<int32_t>(p.value.path()),
                                     .reserved = 0};
  });
}

int rdmagpu_cufile_peer_cufile_facts(const rdmagpu_cufile_peer* peer, rdmagpu_cufile_facts* facts,
                                     rdmagpu_error* error) {
  return capi::fill("rdmagpu_cufile_peer_cufile_facts", peer, facts, error,
                    [](const rdmagpu_cufile_peer& p) { return capi::toC(p.value.facts(), p.value.path()); });
}

int rdmagpu_cufile_peer_reason(const rdmagpu_cufile_peer* peer, rdmagpu_error* reason, rdmagpu_error* error) {
  return capi::fill("rdmagpu_cufile_peer_reason", peer, reason, error,
                    [](const rdmagpu_cufile_peer& p) { return capi::toC(p.value.reason()); });
}

uint64_t rdmagpu_cufile_peer_overwritten(const rdmagpu_cufile_peer* peer, uint64_t bytes) {
  return peer ? peer->value.overwritten(bytes) : 0;
}

int rdmagpu_cufile_peer_write(rdmagpu_cufile_peer* peer, uint32_t slot, const void* from, size_t bytes,
                              rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_peer_write";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, from, bytes); !given)
      return given;
    return peer->value.write(slot, capi::bytesAt(from, bytes));
  });
}

int rdmagpu_cufile_peer_read(rdmagpu_cufile_peer* peer, uint32_t slot, void* to, size_t bytes,
                             rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_peer_read";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, to, bytes); !given)
      return given;
    return peer->value.read(slot, capi::bytesAt(to, bytes));
  });
}

int rdmagpu_cufile_peer_fetch(rdmagpu_cufile_peer* peer, uint32_t slot, void* to, size_t bytes,
                              rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_peer_fetch";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkBytes(call, peer, to, bytes); !given)
      return given;
    return peer->value.fetch(slot, capi::bytesAt(to, bytes));
  });
}

int rdmagpu_cufile_peer_fill(rdmagpu_cufile_peer* peer, uint32_t slot, uint64_t bytes, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_cufile_peer_fill";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, peer); !given)
      return given;
    return peer->value.fill(slot, bytes);
  });
}

int rdmagpu_cufile_peer_verify(rdmagpu_cufile_peer* peer, const rdmagpu_buffer* buffer,
                               const rdmagpu_verify_options* options, rdmagpu_report** report,
                               rdmagpu_error* error) {
  return capi::prove("rdmagpu_cufile_peer_verify", peer, buffer, options, report, error,
                     [&](const RdmaGpuBuffer& slots, const VerifyOptions& wanted) {
                       return verify(slots, peer->value, wanted);
                     });
}

} // extern "C"
