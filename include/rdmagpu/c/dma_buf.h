#ifndef RDMAGPU_C_DMA_BUF_H
#define RDMAGPU_C_DMA_BUF_H

#include <rdmagpu/c/buffer.h>

RDMAGPU_C_BEGIN

/* An exported dma-buf descriptor (close-on-exec). Holds the memory, and may outlive the buffer. */
typedef struct rdmagpu_dma_buf rdmagpu_dma_buf;

typedef struct rdmagpu_dma_buf_facts {
  uint32_t struct_size;
  int32_t fd;           /* Still the object's; a peer that registers it holds its own reference. */
  uint64_t offset;      /* Bytes into the fd where the exported range starts. */
  uint64_t size;        /* Bytes exported from there. */
  uint32_t pcie_mapped; /* Through PCIe (rdmagpu_pcie_mapping), and not in the driver's default way. */
  uint32_t reserved;
} rdmagpu_dma_buf_facts;

/* One dma-buf for all slots; or one that reaches that slot and nothing else. */
RDMAGPU_C_API int rdmagpu_buffer_export_region(const rdmagpu_buffer* buffer, rdmagpu_dma_buf** exported,
                                               rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_buffer_export_slot(const rdmagpu_buffer* buffer, uint32_t slot,
                                             rdmagpu_dma_buf** exported, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_dma_buf_facts_of(const rdmagpu_dma_buf* exported, rdmagpu_dma_buf_facts* facts,
                                           rdmagpu_error* error);
/* Why it is not mapped through PCIe, where that was tried; kind 0 in *reason otherwise. */
RDMAGPU_C_API int rdmagpu_dma_buf_pcie_reason(const rdmagpu_dma_buf* exported, rdmagpu_error* reason,
                                              rdmagpu_error* error);
/* Hands over the descriptor, which the caller closes, and drops the hold on the memory. -1: there was none.
 */
RDMAGPU_C_API int rdmagpu_dma_buf_release(rdmagpu_dma_buf* exported);
/* Closes the descriptor, unless it was released. */
RDMAGPU_C_API void rdmagpu_dma_buf_destroy(rdmagpu_dma_buf* exported);

RDMAGPU_C_END
#endif
