#include <capi/call.hpp>
#include <capi/objects.hpp>
#include <capi/proof_convert.hpp>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(FaultPolicy::FailOver) == RDMAGPU_FAULT_FAIL_OVER);
static_assert(FrameProof::noSlot == RDMAGPU_NO_SLOT);

rdmagpu_frame_finding toC(const FrameFinding& finding) noexcept {
  return {.fault = static_cast<int32_t>(finding.fault), .reserved = 0, .offset = finding.offset};
}

} // namespace

extern "C" {

int rdmagpu_frame_proof_create(const rdmagpu_buffer* buffer, const rdmagpu_frame_proof_config* config,
                               rdmagpu_frame_proof** proof, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_frame_proof_create";
  return capi::create(call, proof, error, [&]() -> Result<std::shared_ptr<FrameProof>> {
    if(const auto given = capi::checkPointers(call, buffer); !given)
      return given.error();
    const auto wanted = capi::readProofConfig(call, config);
    if(!wanted)
      return wanted.error();
    auto made = FrameProof::make(buffer->value, *wanted);
    if(!made)
      return made.error();
    return std::make_shared<FrameProof>(*std::move(made));
  });
}

void rdmagpu_frame_proof_destroy(rdmagpu_frame_proof* proof) { delete proof; }

rdmagpu_frame_finding rdmagpu_frame_proof_arm(rdmagpu_frame_proof* proof, uint32_t slot) {
  return proof ? toC(proof->value->arm(slot)) : rdmagpu_frame_finding{};
}

void rdmagpu_frame_proof_start_arm(rdmagpu_frame_proof* proof, uint32_t slot) {
  if(proof)
    proof->value->startArm(slot);
}

rdmagpu_frame_finding rdmagpu_frame_proof_check(rdmagpu_frame_proof* proof, uint32_t slot, uint64_t bytes) {
  return proof ? toC(proof->value->check(slot, bytes)) : rdmagpu_frame_finding{};
}

void rdmagpu_frame_proof_start_check(rdmagpu_frame_proof* proof, uint32_t slot, uint64_t bytes,
                                     uint32_t armNext) {
  if(proof)
    proof->value->startCheck(slot, bytes, armNext);
}

rdmagpu_frame_finding rdmagpu_frame_proof_recheck(rdmagpu_frame_proof* proof, uint32_t slot) {
  return proof ? toC(proof->value->recheck(slot)) : rdmagpu_frame_finding{};
}

rdmagpu_frame_finding rdmagpu_frame_proof_finding(const rdmagpu_frame_proof* proof, uint32_t slot) {
  return proof ? toC(proof->value->finding(slot)) : rdmagpu_frame_finding{};
}

int rdmagpu_frame_proof_counters_of(const rdmagpu_frame_proof* proof, rdmagpu_frame_proof_counters* counters,
                                    rdmagpu_error* error) {
  return capi::fill("rdmagpu_frame_proof_counters_of", proof, counters, error,
                    [](const rdmagpu_frame_proof& p) { return capi::toC(p.value->counters()); });
}

bool rdmagpu_frame_proof_arms_ahead(const rdmagpu_frame_proof* proof) {
  return proof && proof->value->armsAhead();
}

int32_t rdmagpu_frame_proof_on_fault(const rdmagpu_frame_proof* proof) {
  return proof ? static_cast<int32_t>(proof->value->onFault()) : -1;
}

uint32_t rdmagpu_frame_proof_slot_count(const rdmagpu_frame_proof* proof) {
  return proof ? proof->value->slotCount() : 0;
}

int rdmagpu_ring_create_proven(uint32_t slotCount, int32_t policy, rdmagpu_frame_proof* proof,
                               rdmagpu_ring** ring, rdmagpu_error* error) {
  constexpr const char* call = "rdmagpu_ring_create_proven";
  return capi::create(call, ring, error, [&]() -> Result<capi::ProvenRing> {
    if(const auto given = capi::checkPointers(call, proof); !given)
      return given.error();
    const auto known = capi::value(call, policy, RingPolicy::Newest);
    if(!known)
      return known.error();
    auto made = SlotRing::make({.slotCount = slotCount, .policy = *known, .proof = proof->value.get()});
    if(!made)
      return made.error();
    return capi::ProvenRing{proof->value, *std::move(made)};
  });
}

} // extern "C"
