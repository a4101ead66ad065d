#ifndef RDMAGPU_C_RING_H
#define RDMAGPU_C_RING_H

#include <rdmagpu/c/error.h>

RDMAGPU_C_BEGIN

/* The hand-over of N slots between one producer and one consumer, each on a thread of its own; see SlotRing.
 * The producer's functions may be called by one thread at a time, the consumer's by one thread at a time.
 * Counters, bytes ready, notify and close may be called by any. A ring that is null answers
 * RDMAGPU_RING_MISUSE. */
typedef struct rdmagpu_ring rdmagpu_ring;

typedef enum rdmagpu_ring_policy {
  RDMAGPU_RING_FIFO = 0,   /* Every frame, in order. */
  RDMAGPU_RING_NEWEST = 1, /* The newest; older ones are dropped. */
} rdmagpu_ring_policy;

typedef enum rdmagpu_ring_status {
  RDMAGPU_RING_OK = 0,
  RDMAGPU_RING_EMPTY = 1,
  RDMAGPU_RING_CLOSED = 2,
  RDMAGPU_RING_MISUSE = 3,
  RDMAGPU_RING_FAULTY = 4,
} rdmagpu_ring_status;
RDMAGPU_C_API const char* rdmagpu_ring_status_name(int32_t status); /* "ok", ...; null for others */

/* What is wrong with a frame that a peer wrote; see FrameFault. */
typedef enum rdmagpu_frame_fault {
  RDMAGPU_FRAME_FAULT_NONE = 0,
  RDMAGPU_FRAME_FAULT_STALE = 1,
  RDMAGPU_FRAME_FAULT_TORN = 2,
  RDMAGPU_FRAME_FAULT_LATE = 3,
  RDMAGPU_FRAME_FAULT_WRONG_OFFSET = 4,
  RDMAGPU_FRAME_FAULT_SHORT = 5,
  RDMAGPU_FRAME_FAULT_UNCHECKED = 6,
} rdmagpu_frame_fault;
RDMAGPU_C_API const char* rdmagpu_frame_fault_name(int32_t fault); /* "none", ...; null for others */

/* Says when the work on a slot is done; see RingCompletion. `done` must not block, throw or call the ring;
 * null: done at once. */
typedef struct rdmagpu_completion {
  void* context;
  bool (*done)(void* context);
} rdmagpu_completion;

typedef struct rdmagpu_frame {
  uint32_t struct_size;
  uint32_t slot;
  uint64_t sequence; /* A gap is a loss. */
  int64_t timestamp;
  uint64_t bytes;
  uint64_t bytes_ready;
  int32_t fault; /* rdmagpu_frame_fault: what the ring's proof has found. */
  uint32_t reserved;
} rdmagpu_frame;

typedef struct rdmagpu_ring_counters {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t published;
  uint64_t taken;
  uint64_t drops;
  uint64_t underruns;
} rdmagpu_ring_counters;

RDMAGPU_C_API int rdmagpu_ring_create(uint32_t slot_count, int32_t policy, rdmagpu_ring** ring,
                                      rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_ring_destroy(rdmagpu_ring* ring);
RDMAGPU_C_API uint32_t rdmagpu_ring_slot_count(const rdmagpu_ring* ring); /* 0: none */
RDMAGPU_C_API int32_t rdmagpu_ring_policy_of(const rdmagpu_ring* ring);   /* rdmagpu_ring_policy; -1: null */
RDMAGPU_C_API int rdmagpu_ring_counters_of(const rdmagpu_ring* ring, rdmagpu_ring_counters* counters,
                                           rdmagpu_error* error);

/* The producer's side. Times are nanoseconds; 0 does not wait, a negative one waits without limit. */
RDMAGPU_C_API int rdmagpu_ring_acquire(rdmagpu_ring* ring, uint32_t* slot, int64_t timeout);
RDMAGPU_C_API int rdmagpu_ring_abandon(rdmagpu_ring* ring, uint32_t slot);
RDMAGPU_C_API int rdmagpu_ring_publish(rdmagpu_ring* ring, uint32_t slot, int64_t timestamp, uint64_t bytes,
                                       uint64_t bytes_ready, rdmagpu_completion completion);
RDMAGPU_C_API int rdmagpu_ring_advance(rdmagpu_ring* ring, uint32_t slot, uint64_t bytes_ready);
RDMAGPU_C_API void rdmagpu_ring_count_drop(rdmagpu_ring* ring);
RDMAGPU_C_API void rdmagpu_ring_close_producer(rdmagpu_ring* ring);

/* The consumer's side. */
RDMAGPU_C_API int rdmagpu_ring_take(rdmagpu_ring* ring, rdmagpu_frame* frame, int64_t timeout);
RDMAGPU_C_API uint64_t rdmagpu_ring_bytes_ready(const rdmagpu_ring* ring, uint32_t slot);
RDMAGPU_C_API int rdmagpu_ring_wait_bytes(rdmagpu_ring* ring, uint32_t slot, uint64_t bytes, int64_t timeout);
/* What the proof has found of a frame that was taken, as an rdmagpu_frame_fault; 0 before it is whole. */
RDMAGPU_C_API int32_t rdmagpu_ring_fault(const rdmagpu_ring* ring, uint32_t slot);
RDMAGPU_C_API int rdmagpu_ring_release(rdmagpu_ring* ring, uint32_t slot, rdmagpu_completion completion);
RDMAGPU_C_API void rdmagpu_ring_count_underrun(rdmagpu_ring* ring);
RDMAGPU_C_API void rdmagpu_ring_close_consumer(rdmagpu_ring* ring);

/* Wakes whoever waits, so that completions are asked again. */
RDMAGPU_C_API void rdmagpu_ring_notify(rdmagpu_ring* ring);

RDMAGPU_C_END
#endif
