#ifndef RDMAGPU_C_COPY_QUEUE_H
#define RDMAGPU_C_COPY_QUEUE_H

#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/ring.h>

RDMAGPU_C_BEGIN

/* Copies into and out of slots that go on by themselves; see CopyQueue. Any thread may use it. */
typedef struct rdmagpu_copy_queue rdmagpu_copy_queue;

typedef struct rdmagpu_copy_queue_options {
  uint32_t struct_size;
  uint32_t streams;   /* 0: 2 */
  uint32_t depth;     /* 0: 64 */
  uint32_t on_stream; /* 1: through cuda_stream, and no other */
  void* cuda_stream;  /* A CUstream of the caller's, which outlives the queue. Null: the default stream. */
} rdmagpu_copy_queue_options;

/* A copy that was begun. All 0: none, which is done. Each that a function has filled is released once, by any
 * thread; it must not be copied. */
typedef struct rdmagpu_copy {
  uint64_t opaque[8];
} rdmagpu_copy;

/* `options` may be null. */
RDMAGPU_C_API int rdmagpu_copy_queue_create(const rdmagpu_buffer* buffer,
                                            const rdmagpu_copy_queue_options* options,
                                            rdmagpu_copy_queue** queue, rdmagpu_error* error);
/* Waits until all copies are over. */
RDMAGPU_C_API void rdmagpu_copy_queue_destroy(rdmagpu_copy_queue* queue);

/* Begins a copy. The caller's bytes stay there, and untouched, until it is over. `copy` may be null: then
 * rdmagpu_copy_queue_finish() tells. What it held before must have been released. */
RDMAGPU_C_API int rdmagpu_copy_queue_upload(rdmagpu_copy_queue* queue, uint32_t slot, uint64_t offset,
                                            const void* from, size_t bytes, rdmagpu_copy* copy,
                                            rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_copy_queue_download(rdmagpu_copy_queue* queue, uint32_t slot, uint64_t offset,
                                              void* to, size_t bytes, rdmagpu_copy* copy,
                                              rdmagpu_error* error);
/* Waits until all copies are over, and returns the first failure since the last time. */
RDMAGPU_C_API int rdmagpu_copy_queue_finish(rdmagpu_copy_queue* queue, rdmagpu_error* error);

RDMAGPU_C_API bool rdmagpu_copy_done(const rdmagpu_copy* copy); /* Never blocks. */
RDMAGPU_C_API int rdmagpu_copy_wait(const rdmagpu_copy* copy, rdmagpu_error* error);
/* For rdmagpu_ring_publish() or rdmagpu_ring_release() of its slot. The queue must live until the ring has
 * found it done, or is gone. */
RDMAGPU_C_API rdmagpu_completion rdmagpu_copy_completion(const rdmagpu_copy* copy);
/* Does not wait, and ends nothing; leaves it all 0. */
RDMAGPU_C_API void rdmagpu_copy_release(rdmagpu_copy* copy);

RDMAGPU_C_END
#endif
