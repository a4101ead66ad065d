#ifndef RDMAGPU_C_SOFTWARE_PEER_H
#define RDMAGPU_C_SOFTWARE_PEER_H

#include <rdmagpu/c/copy_queue.h>
#include <rdmagpu/c/ring.h>

RDMAGPU_C_BEGIN

/* A card that exists only in software; see SoftwarePeer. Stop, wait and counters may be called by any thread,
 * the other functions by one at a time. */
typedef struct rdmagpu_software_peer rdmagpu_software_peer;

/* What it does wrong on purpose; see Misbehaviour. */
typedef enum rdmagpu_misbehaviour {
  RDMAGPU_MISBEHAVE_NONE = 0,
  RDMAGPU_MISBEHAVE_STOP = 1,
  RDMAGPU_MISBEHAVE_TEAR = 2,
  RDMAGPU_MISBEHAVE_WRITE_LATE = 3,
  RDMAGPU_MISBEHAVE_OVERRUN = 4,
  RDMAGPU_MISBEHAVE_HOLD = 5,
  RDMAGPU_MISBEHAVE_WRONG_SLOT = 6,
  RDMAGPU_MISBEHAVE_OVERRUN_SLOT = 7,
  RDMAGPU_MISBEHAVE_MIGRATE = 8,
} rdmagpu_misbehaviour;

/* A slot as the peer sees it. In an array, so without a size: it will never change. */
typedef struct rdmagpu_peer_slot {
  uint64_t handoff;
  uint64_t size; /* Bytes that the peer may touch. */
  int32_t kind;  /* rdmagpu_handoff_kind */
  uint32_t reserved;
} rdmagpu_peer_slot;

typedef struct rdmagpu_software_peer_config {
  uint32_t struct_size;
  uint32_t slot_count;
  const rdmagpu_peer_slot* slots; /* Copied. */
  uint32_t rate_numerator;        /* Frames a second; 0: as fast as it can. */
  uint32_t rate_denominator;      /* 0: 1 */
  int32_t misbehaviour;           /* rdmagpu_misbehaviour */
  uint32_t reserved;              /* 0 */
  uint64_t misbehave_at;
  uint64_t slice_bytes;
  rdmagpu_copy_queue* copy_through; /* Must live as long as the peer; null: the CPU copies. */
  /* Capture: the memory of a slot that was acquired, asked on the peer's thread. False: there is none, and
   * the peer ends. Null: `slots` stay what they are. */
  bool (*slot_now)(void* context, uint32_t slot, rdmagpu_peer_slot* now);
  void* context;
} rdmagpu_software_peer_config;

/* Where a capturing peer's frames come from, asked on its thread. Null, or no bytes, ends the stream. A frame
 * stays valid until the next call, or for frames_kept calls more. */
typedef struct rdmagpu_frame_source {
  uint32_t struct_size;
  uint32_t frames_kept;
  void* context;
  const void* (*next)(void* context, size_t* bytes);
} rdmagpu_frame_source;

/* Where a playing-out peer's frames go, on its thread; the bytes live for the call. False ends the peer. */
typedef struct rdmagpu_frame_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  bool (*frame)(void* context, uint64_t sequence, uint32_t slot, const void* bytes, size_t size);
} rdmagpu_frame_sink;

typedef struct rdmagpu_peer_counters {
  uint32_t struct_size;
  uint32_t finished; /* Its thread is at its end. */
  uint64_t frames;
  uint64_t bytes;
  uint64_t missed;
} rdmagpu_peer_counters;

RDMAGPU_C_API int rdmagpu_software_peer_create(const rdmagpu_software_peer_config* config,
                                               rdmagpu_software_peer** peer, rdmagpu_error* error);
/* As rdmagpu_software_peer_stop() before. */
RDMAGPU_C_API void rdmagpu_software_peer_destroy(rdmagpu_software_peer* peer);

/* The ring must live until the peer was stopped, waited for or destroyed; so must what the callbacks use. The
 * struct itself is copied. */
RDMAGPU_C_API int rdmagpu_software_peer_start_capture(rdmagpu_software_peer* peer, rdmagpu_ring* ring,
                                                      const rdmagpu_frame_source* source,
                                                      rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_software_peer_start_playout(rdmagpu_software_peer* peer, rdmagpu_ring* ring,
                                                      const rdmagpu_frame_sink* sink, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_software_peer_stop(rdmagpu_software_peer* peer);
RDMAGPU_C_API void rdmagpu_software_peer_wait(rdmagpu_software_peer* peer);
/* `failure`, where it is not null, gets why it stopped early; kind 0 otherwise. */
RDMAGPU_C_API int rdmagpu_software_peer_counters_of(const rdmagpu_software_peer* peer,
                                                    rdmagpu_peer_counters* counters, rdmagpu_error* failure,
                                                    rdmagpu_error* error);
/* To or from one slot, without a ring; returns when done. */
RDMAGPU_C_API int rdmagpu_software_peer_write(const rdmagpu_software_peer* peer, uint32_t slot,
                                              uint64_t offset, const void* from, size_t bytes,
                                              rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_software_peer_read(const rdmagpu_software_peer* peer, uint32_t slot,
                                             uint64_t offset, void* to, size_t bytes, rdmagpu_error* error);

RDMAGPU_C_END
#endif
