#ifndef RDMAGPU_C_INSPECT_H
#define RDMAGPU_C_INSPECT_H

#include <rdmagpu/c/buffer.h>

RDMAGPU_C_BEGIN

/* What memory that somebody else allocated is; see MemoryKind. */
typedef enum rdmagpu_memory_kind {
  RDMAGPU_MEMORY_PRIVATE = 0,
  RDMAGPU_MEMORY_SHARED_ANONYMOUS = 1,
  RDMAGPU_MEMORY_MEMFD = 2,
  RDMAGPU_MEMORY_HUGE_PAGES = 3,
  RDMAGPU_MEMORY_PRIVATE_FILE = 4,
  RDMAGPU_MEMORY_SHARED_FILE = 5,
  RDMAGPU_MEMORY_DEVICE = 6,
  RDMAGPU_MEMORY_MIXED = 7,
  RDMAGPU_MEMORY_GPU = 8,
  RDMAGPU_MEMORY_GPU_VIRTUAL = 9,
  RDMAGPU_MEMORY_GPU_POOL = 10,
  RDMAGPU_MEMORY_MANAGED = 11,
  RDMAGPU_MEMORY_PINNED_HOST = 12,
} rdmagpu_memory_kind;
RDMAGPU_C_API const char* rdmagpu_memory_kind_name(int32_t kind); /* "private", ...; null for others */

/* Whether a peer could use a range of memory. Answers are rdmagpu_answer. */
typedef struct rdmagpu_memory_facts {
  uint32_t struct_size;
  int32_t kind;
  int32_t peer_usable;
  uint32_t gpu; /* 0: no GPU's driver knows the range, and what begins with gpu_ says nothing. */
  uint64_t page_bytes;
  uint64_t resident_bytes;
  uint64_t locked_bytes;
  uint32_t readable;
  uint32_t writable;
  uint32_t aligned_64k;
  uint32_t copied_on_fork;
  int32_t gpu_api;
  int32_t gpu_ordinal;
  rdmagpu_pci_address gpu_pci;
  uint64_t gpu_allocation;
  uint64_t gpu_allocation_bytes;
  uint64_t gpu_mapping_bytes;
  int32_t gpu_rdma_capable;
  int32_t gpu_exportable;
  int32_t gpu_sync_memops;
  uint32_t reserved;
} rdmagpu_memory_facts;

/* Looks at a range without touching it. `why`, of `why_size` bytes, gets the reason for peer_usable in a
 * sentence; it may be null with size 0. */
RDMAGPU_C_API int rdmagpu_inspect(const void* pointer, size_t size, rdmagpu_memory_facts* facts, char* why,
                                  size_t why_size, rdmagpu_error* error);

/* The same, with the text that it found, which lives as long as the object. */
typedef struct rdmagpu_memory rdmagpu_memory;
RDMAGPU_C_API int rdmagpu_memory_create(const void* pointer, size_t size, rdmagpu_memory** memory,
                                        rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_memory_destroy(rdmagpu_memory* memory);
RDMAGPU_C_API int rdmagpu_memory_facts_of(const rdmagpu_memory* memory, rdmagpu_memory_facts* facts,
                                          rdmagpu_error* error);
RDMAGPU_C_API const char* rdmagpu_memory_why(const rdmagpu_memory* memory); /* Of peer_usable. */
RDMAGPU_C_API const char*
rdmagpu_memory_mapping(const rdmagpu_memory* memory); /* The kernel's name for it. */
RDMAGPU_C_API const char* rdmagpu_memory_gpu_name(const rdmagpu_memory* memory); /* Empty: none's. */

RDMAGPU_C_END
#endif
