#ifndef RDMAGPU_C_CUDA_H
#define RDMAGPU_C_CUDA_H

#include <rdmagpu/c/ring.h>

RDMAGPU_C_BEGIN

/* Completions of the caller's own work on a GPU, for rdmagpu_ring_publish() and rdmagpu_ring_release(); see
 * CudaCompletions. A slot has one at a time. Must live until the ring has found them done, or is gone. */
typedef struct rdmagpu_cuda_completions rdmagpu_cuda_completions;

/* Fails where there is no CUDA driver. Touches no GPU. */
RDMAGPU_C_API int rdmagpu_cuda_completions_create(uint32_t slot_count, rdmagpu_cuda_completions** completions,
                                                  rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_cuda_completions_destroy(rdmagpu_cuda_completions* completions);
/* Done once all that the CUstream has been given so far is. Null: the legacy default stream. */
RDMAGPU_C_API int rdmagpu_cuda_after_stream(rdmagpu_cuda_completions* completions, uint32_t slot,
                                            void* cuda_stream, rdmagpu_completion* completion,
                                            rdmagpu_error* error);
/* Done once the CUevent is; null is refused. */
RDMAGPU_C_API int rdmagpu_cuda_after_event(rdmagpu_cuda_completions* completions, uint32_t slot,
                                           void* cuda_event, rdmagpu_completion* completion,
                                           rdmagpu_error* error);

RDMAGPU_C_END
#endif
