#ifndef RDMAGPU_C_STAGED_H
#define RDMAGPU_C_STAGED_H

#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/frame_proof.h>
#include <rdmagpu/c/ring.h>

RDMAGPU_C_BEGIN

/* Slots through which a peer and an application exchange frames, on whatever path there is between them; see
 * StagedBuffer. Its ring and buffers are parts of it: they go with it, and to destroy them does nothing.
 * Whoever uses the ring must be done with it before this object is destroyed. */
typedef struct rdmagpu_staged rdmagpu_staged;

typedef enum rdmagpu_slot_path {
  RDMAGPU_PATH_ANY = 0, /* Direct where the peer can reach the application's slots, else staged. */
  RDMAGPU_PATH_DIRECT = 1,
  RDMAGPU_PATH_STAGED = 2,
} rdmagpu_slot_path;
RDMAGPU_C_API const char* rdmagpu_slot_path_name(int32_t path); /* "direct", "staged"; null for others */

typedef enum rdmagpu_slot_flow {
  RDMAGPU_FLOW_CAPTURE = 0, /* The peer fills slots, the application uses them. */
  RDMAGPU_FLOW_PLAYOUT = 1,
} rdmagpu_slot_flow;

typedef struct rdmagpu_staged_config {
  uint32_t struct_size;
  int32_t flow;                            /* rdmagpu_slot_flow */
  int32_t policy;                          /* rdmagpu_ring_policy */
  int32_t path;                            /* rdmagpu_slot_path */
  const rdmagpu_config* buffer;            /* The application's slots. */
  const rdmagpu_frame_proof_config* proof; /* Prove every frame that the peer writes; null: nobody looks. */
  uint64_t companion_bytes;                /* Of host memory beside each slot; 0: none. */
  uint64_t slice_bytes;                    /* 0: measured. */
} rdmagpu_staged_config;

typedef struct rdmagpu_staged_facts {
  uint32_t struct_size;
  int32_t path;         /* rdmagpu_slot_path: as made. */
  uint64_t slice_bytes; /* 0 on a direct path. */
  uint64_t companion_bytes;
} rdmagpu_staged_facts;

/* All of it or nothing. */
RDMAGPU_C_API int rdmagpu_staged_create(const rdmagpu_staged_config* config, rdmagpu_staged** staged,
                                        rdmagpu_error* error);
/* As rdmagpu_staged_close() before. */
RDMAGPU_C_API void rdmagpu_staged_destroy(rdmagpu_staged* staged);
/* Closes both sides of the ring, and waits until no copy is under way and no completion is asked any more. */
RDMAGPU_C_API void rdmagpu_staged_close(rdmagpu_staged* staged);

RDMAGPU_C_API int rdmagpu_staged_facts_of(const rdmagpu_staged* staged, rdmagpu_staged_facts* facts,
                                          rdmagpu_error* error);
/* Why the path is not direct; kind 0 in *reason when it is, or was not to be. */
RDMAGPU_C_API int rdmagpu_staged_reason(const rdmagpu_staged* staged, rdmagpu_error* reason,
                                        rdmagpu_error* error);
/* Of the application's slots, and of those that the peer was given first. */
RDMAGPU_C_API int rdmagpu_staged_application_facts(const rdmagpu_staged* staged, rdmagpu_facts* facts,
                                                   rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_staged_peer_facts(const rdmagpu_staged* staged, rdmagpu_facts* facts,
                                            rdmagpu_error* error);

/* Null where `staged` is. */
RDMAGPU_C_API rdmagpu_ring* rdmagpu_staged_ring(rdmagpu_staged* staged);
RDMAGPU_C_API const rdmagpu_buffer* rdmagpu_staged_application(const rdmagpu_staged* staged);
RDMAGPU_C_API const rdmagpu_buffer* rdmagpu_staged_peer(const rdmagpu_staged* staged);
/* The buffer that companions lie in; without slots where none was asked for. */
RDMAGPU_C_API const rdmagpu_buffer* rdmagpu_staged_companions(const rdmagpu_staged* staged);

/* What the peer's SDK wants for a slot that its side has acquired, this time; see FaultPolicy::FailOver. */
RDMAGPU_C_API int rdmagpu_staged_handoff(const rdmagpu_staged* staged, uint32_t slot, int32_t* kind,
                                         uint64_t* handoff, rdmagpu_error* error);
/* The path of the slots that the peer's side acquires now, as an rdmagpu_slot_path; 0: null. */
RDMAGPU_C_API int32_t rdmagpu_staged_path(const rdmagpu_staged* staged);
/* Host memory that goes with a slot and changes hands with it. Null, and *bytes 0: none. */
RDMAGPU_C_API void* rdmagpu_staged_companion(const rdmagpu_staged* staged, uint32_t slot, uint64_t* bytes);

/* Why copying has ended; kind 0 in *failure while it goes on. */
RDMAGPU_C_API int rdmagpu_staged_failure(const rdmagpu_staged* staged, rdmagpu_error* failure,
                                         rdmagpu_error* error);
/* False without a proof. */
RDMAGPU_C_API bool rdmagpu_staged_proof_counters(const rdmagpu_staged* staged,
                                                 rdmagpu_frame_proof_counters* counters);

RDMAGPU_C_END
#endif
