#ifndef RDMAGPU_C_FRAME_PROOF_H
#define RDMAGPU_C_FRAME_PROOF_H

#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/ring.h>

RDMAGPU_C_BEGIN

/* Canaries in slots that tell what a peer did not write, or wrote elsewhere; see FrameProof. A slot's
 * functions belong to whoever holds the slot; those of different slots, and the counters, may run at once.
 * Holds the slots' memory. */
typedef struct rdmagpu_frame_proof rdmagpu_frame_proof;

/* What a ring does with a frame that is found faulty before it is handed over; see FaultPolicy. */
typedef enum rdmagpu_fault_policy {
  RDMAGPU_FAULT_REPORT = 0,
  RDMAGPU_FAULT_DROP = 1,
  RDMAGPU_FAULT_FAIL_OVER = 2,
} rdmagpu_fault_policy;

typedef struct rdmagpu_frame_proof_config {
  uint32_t struct_size;
  int32_t on_fault; /* rdmagpu_fault_policy */
  uint64_t seed;
  uint32_t partial_frames; /* 1: frames may be shorter than frame_bytes; 0: those are short. */
  uint32_t reserved;       /* 0 */
} rdmagpu_frame_proof_config;

/* Each counts faults, not frames. */
typedef struct rdmagpu_frame_proof_counters {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t checked; /* Frames that were looked at. */
  uint64_t stale;
  uint64_t torn;
  uint64_t late;
  uint64_t wrong_offset;
  uint64_t short_frames;
  uint64_t unchecked;
} rdmagpu_frame_proof_counters;

/* One look at a slot. By value, so without a size: it will never change. */
typedef struct rdmagpu_frame_finding {
  int32_t fault; /* rdmagpu_frame_fault */
  uint32_t reserved;
  uint64_t offset; /* In the slot, of the first byte that tells. */
} rdmagpu_frame_finding;

/* Lays canaries into every slot, none of which may be with a peer. `config` may be null. */
RDMAGPU_C_API int rdmagpu_frame_proof_create(const rdmagpu_buffer* buffer,
                                             const rdmagpu_frame_proof_config* config,
                                             rdmagpu_frame_proof** proof, rdmagpu_error* error);
/* A ring that uses it keeps it until the ring is destroyed. */
RDMAGPU_C_API void rdmagpu_frame_proof_destroy(rdmagpu_frame_proof* proof);

/* Of a slot that is not there, and of a proof that is null, all these find no fault. */
RDMAGPU_C_API rdmagpu_frame_finding rdmagpu_frame_proof_arm(rdmagpu_frame_proof* proof, uint32_t slot);
RDMAGPU_C_API void rdmagpu_frame_proof_start_arm(rdmagpu_frame_proof* proof, uint32_t slot);
RDMAGPU_C_API rdmagpu_frame_finding rdmagpu_frame_proof_check(rdmagpu_frame_proof* proof, uint32_t slot,
                                                              uint64_t bytes);
#define RDMAGPU_NO_SLOT UINT32_MAX
/* `arm_next`: another slot, or RDMAGPU_NO_SLOT. */
RDMAGPU_C_API void rdmagpu_frame_proof_start_check(rdmagpu_frame_proof* proof, uint32_t slot, uint64_t bytes,
                                                   uint32_t arm_next);
RDMAGPU_C_API rdmagpu_frame_finding rdmagpu_frame_proof_recheck(rdmagpu_frame_proof* proof, uint32_t slot);
RDMAGPU_C_API rdmagpu_frame_finding rdmagpu_frame_proof_finding(const rdmagpu_frame_proof* proof,
                                                                uint32_t slot);

RDMAGPU_C_API int rdmagpu_frame_proof_counters_of(const rdmagpu_frame_proof* proof,
                                                  rdmagpu_frame_proof_counters* counters,
                                                  rdmagpu_error* error);
RDMAGPU_C_API bool rdmagpu_frame_proof_arms_ahead(const rdmagpu_frame_proof* proof);
RDMAGPU_C_API int32_t rdmagpu_frame_proof_on_fault(const rdmagpu_frame_proof* proof); /* -1: null */
RDMAGPU_C_API uint32_t rdmagpu_frame_proof_slot_count(const rdmagpu_frame_proof* proof);

/* A ring of which every frame is proven; see SlotRingConfig::proof. It has as many slots as the ring at
 * least, and belongs to one ring at a time. */
RDMAGPU_C_API int rdmagpu_ring_create_proven(uint32_t slot_count, int32_t policy, rdmagpu_frame_proof* proof,
                                             rdmagpu_ring** ring, rdmagpu_error* error);

RDMAGPU_C_END
#endif
