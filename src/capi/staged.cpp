#include <capi/call.hpp>
#include <capi/facts.hpp>
#include <capi/objects.hpp>
#include <capi/proof_convert.hpp>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(SlotPath::Direct) + 1 == RDMAGPU_PATH_DIRECT);
static_assert(static_cast<int>(SlotPath::Staged) + 1 == RDMAGPU_PATH_STAGED);
static_assert(static_cast<int>(SlotFlow::Playout) == RDMAGPU_FLOW_PLAYOUT);

int32_t toC(SlotPath path) noexcept { return static_cast<int32_t>(path) + 1; }

Result<std::optional<SlotPath>> readPath(int32_t path) noexcept {
  if(path == RDMAGPU_PATH_ANY)
    return std::optional<SlotPath>{};
  if(path != RDMAGPU_PATH_DIRECT && path != RDMAGPU_PATH_STAGED)
    return libraryError("rdmagpu_staged_config::path", LibraryCode::ValueUnknown, static_cast<uint32_t>(path),
                        RDMAGPU_PATH_STAGED);
  return std::optional{path == RDMAGPU_PATH_DIRECT ? SlotPath::Direct : SlotPath::Staged};
}

Result<StagedBufferConfig> readConfig(const char* call, const rdmagpu_staged_config* from) noexcept {
  const auto c = capi::read(call, from);
  if(!c)
    return c.error();
  const auto buffer = capi::readConfig(call, c->buffer);
  if(!buffer)
    return buffer.error();
  const auto flow = capi::value("rdmagpu_staged_config::flow", c->flow, SlotFlow::Playout);
  if(!flow)
    return flow.error();
  const auto policy = capi::value("rdmagpu_staged_config::policy", c->policy, RingPolicy::Newest);
  if(!policy)
    return policy.error();
  const auto path = readPath(c->path);
  if(!path)
    return path.error();
  StagedBufferConfig config{.buffer = *buffer,
                            .flow = *flow,
                            .policy = *policy,
                            .path = *path,
                            .companionBytes = c->companion_bytes,
                            .sliceBytes = c->slice_bytes};
  if(c->proof) {
    const auto proof = capi::readProofConfig(call, c->proof);
    if(!proof)
      return proof.error();
    config.proof = *proof;
  }
  return config;
}

} // namespace

extern "C" {

const char* rdmagpu_slot_path_name(int32_t path) {
  return path > RDMAGPU_PATH_ANY ? capi::nameOf(path - 1, SlotPath::Staged) : nullptr;
}

int rdmagpu_staged_create(const rdmagpu_staged_config* config, rdmagpu_staged** staged,
                          rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_staged_create";
  return capi::create(call, staged, error, [&]() -> Result<StagedBuffer> {
    const auto wanted = readConfig(call, config);
    if(!wanted)
      return wanted.error();
    return StagedBuffer::make(*wanted);
  });
}

void rdmagpu_staged_destroy(rdmagpu_staged* staged) { delete staged; }

void rdmagpu_staged_close(rdmagpu_staged* staged) {
  if(staged)
    staged->value.close();
}

int rdmagpu_staged_facts_of(const rdmagpu_staged* staged, rdmagpu_staged_facts* facts, rdmagpu_error* error) {
  return capi::fill("rdmagpu_staged_facts_of", staged, facts, error, [](const rdmagpu_staged& s) {
    const StagedBufferFacts& known = s.value.facts();
    return rdmagpu_staged_facts{.struct_size = 0,
                                .path = toC(known.path),
                                .slice_bytes = known.sliceBytes,
                                .companion_bytes = known.companionBytes};
  });
}

int rdmagpu_staged_reason(const rdmagpu_staged* staged, rdmagpu_error* reason, rdmagpu_error* error) {
  return capi::fill("rdmagpu_staged_reason", staged, reason, error,
                    [](const rdmagpu_staged& s) { return capi::toC(s.value.facts().reason); });
}

int rdmagpu_staged_application_facts(const rdmagpu_staged* staged, rdmagpu_facts* facts,
                                     rdmagpu_error* error) {
  return capi::fill("rdmagpu_staged_application_facts", staged, facts, error,
                    [](const rdmagpu_staged& s) { return capi::toC(s.value.facts().application); });
}

int rdmagpu_staged_peer_facts(const rdmagpu_staged* staged, rdmagpu_facts* facts, rdmagpu_error* error) {
  return capi::fill("rdmagpu_staged_peer_facts", staged, facts, error,
                    [](const rdmagpu_staged& s) { return capi::toC(s.value.facts().peer); });
}

rdmagpu_ring* rdmagpu_staged_ring(rdmagpu_staged* staged) { return staged ? &staged->ring : nullptr; }

const rdmagpu_buffer* rdmagpu_staged_application(const rdmagpu_staged* staged) {
  return staged ? &staged->application : nullptr;
}

const rdmagpu_buffer* rdmagpu_staged_peer(const rdmagpu_staged* staged) {
  return staged ? &staged->peer : nullptr;
}

const rdmagpu_buffer* rdmagpu_staged_companions(const rdmagpu_staged* staged) {
  return staged ? &staged->companions : nullptr;
}

int rdmagpu_staged_handoff(const rdmagpu_staged* staged, uint32_t slot, int32_t* kindOfIt, uint64_t* handoff,
                           rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_staged_handoff";
  return capi::run(call, error, [&]() -> Result<void> {
    if(const auto given = capi::checkPointers(call, staged, kindOfIt, handoff); !given)
      return given;
    if(const size_t count = staged->value.applicationBuffer().slotCount(); slot >= count)
      return libraryError(call, LibraryCode::SlotOutOfRange, slot, count);
    const Handoff now = staged->value.handoff(slot);
    *kindOfIt = static_cast<int32_t>(kind(now));
    *handoff = addressBits(now);
    return {};
  });
}

int32_t rdmagpu_staged_path(const rdmagpu_staged* staged) {
  return staged ? toC(staged->value.path()) : RDMAGPU_PATH_ANY;
}

void* rdmagpu_staged_companion(const rdmagpu_staged* staged, uint32_t slot, uint64_t* bytes) {
  const auto companion = staged ? staged->value.companion(slot) : std::span<std::byte>{};
  if(bytes)
    *bytes = companion.size();
  return companion.data();
}

int rdmagpu_staged_failure(const rdmagpu_staged* staged, rdmagpu_error* failure, rdmagpu_error* error) {
  return capi::fill("rdmagpu_staged_failure", staged, failure, error,
                    [](const rdmagpu_staged& s) { return capi::toC(s.value.error()); });
}

bool rdmagpu_staged_proof_counters(const rdmagpu_staged* staged, rdmagpu_frame_proof_counters* counters) {
  const auto now = staged ? staged->value.proofCounters() : std::nullopt;
  return now && capi::write("rdmagpu_staged_proof_counters", capi::toC(*now), counters);
}

} // extern "C"
