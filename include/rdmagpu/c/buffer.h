#ifndef RDMAGPU_C_BUFFER_H
#define RDMAGPU_C_BUFFER_H

#include <rdmagpu/c/error.h>

RDMAGPU_C_BEGIN

/* How the memory is allocated. */
typedef enum rdmagpu_api {
  RDMAGPU_API_NONE = 0,
  RDMAGPU_API_CUDA = 1,
  RDMAGPU_API_VULKAN = 2,
  RDMAGPU_API_D3D12 = 3,
  RDMAGPU_API_HOST = 4,
  RDMAGPU_API_HIP = 5,
  RDMAGPU_API_LEVEL_ZERO = 6,
  RDMAGPU_API_VULKAN_DMA_BUF = 7,
  RDMAGPU_API_PCI_P2P = 8,
  RDMAGPU_API_AUTO = 255,
} rdmagpu_api;
RDMAGPU_C_API const char* rdmagpu_api_name(int32_t api); /* "auto", "host", "cuda", ...; null for others */
/* The API of that name, whether or not this build has the backend; false for any other text. */
RDMAGPU_C_API bool rdmagpu_api_named(const char* name, int32_t* api);

/* What a peer's SDK wants for a slot. */
typedef enum rdmagpu_handoff_kind {
  RDMAGPU_HANDOFF_NONE = 0,
  RDMAGPU_HANDOFF_HOST_POINTER = 1,
  RDMAGPU_HANDOFF_CUDA_POINTER = 2, /* A CUdeviceptr. Not a CPU address. */
  RDMAGPU_HANDOFF_VULKAN_REMOTE_ADDRESS = 3,
  RDMAGPU_HANDOFF_NVAPI_RDMA_ADDRESS = 4,
  RDMAGPU_HANDOFF_HIP_POINTER = 5,
  RDMAGPU_HANDOFF_LEVEL_ZERO_POINTER = 6,
  RDMAGPU_HANDOFF_PCI_MAPPING = 7,
  RDMAGPU_HANDOFF_DMA_BUF = 8, /* No address: export instead. */
} rdmagpu_handoff_kind;
RDMAGPU_C_API const char* rdmagpu_handoff_name(int32_t kind); /* "host-pointer", ...; null for others */
#define RDMAGPU_ACCEPTS(kind) (1U << (kind))
/* Where the CPU can read and write a slot directly; null where it cannot. */
RDMAGPU_C_API void* rdmagpu_handoff_cpu_address(int32_t kind, uint64_t handoff);

/* Whether and how an option is to be had. */
typedef enum rdmagpu_page_lock {
  RDMAGPU_PAGE_LOCK_TRY = 0,
  RDMAGPU_PAGE_LOCK_REQUIRE = 1,
  RDMAGPU_PAGE_LOCK_OFF = 2,
} rdmagpu_page_lock;
typedef enum rdmagpu_huge_pages {
  RDMAGPU_HUGE_PAGES_OFF = 0,
  RDMAGPU_HUGE_PAGES_TRY = 1,
  RDMAGPU_HUGE_PAGES_REQUIRE = 2,
} rdmagpu_huge_pages;
typedef enum rdmagpu_gpu_pin {
  RDMAGPU_GPU_PIN_OFF = 0,
  RDMAGPU_GPU_PIN_TRY = 1,
  RDMAGPU_GPU_PIN_REQUIRE = 2,
} rdmagpu_gpu_pin;
typedef enum rdmagpu_cuda_memory {
  RDMAGPU_CUDA_MEMORY_AUTO = 0,
  RDMAGPU_CUDA_MEMORY_VMM = 1,
  RDMAGPU_CUDA_MEMORY_MEM_ALLOC = 2,
} rdmagpu_cuda_memory;
typedef enum rdmagpu_pcie_mapping {
  RDMAGPU_PCIE_MAPPING_OFF = 0,
  RDMAGPU_PCIE_MAPPING_TRY = 1,
  RDMAGPU_PCIE_MAPPING_REQUIRE = 2,
} rdmagpu_pcie_mapping;
typedef enum rdmagpu_gpu_rdma {
  RDMAGPU_GPU_RDMA_REQUIRE = 0,
  RDMAGPU_GPU_RDMA_TRY = 1,
  RDMAGPU_GPU_RDMA_OFF = 2,
} rdmagpu_gpu_rdma;

/* Which GPU to use: all that `named` has bits for must agree. 0: the backend's first. Part of other structs,
 * so without a size: it will never change. */
enum {
  RDMAGPU_GPU_BY_ORDINAL = 1,
  RDMAGPU_GPU_BY_PCI = 2,
  RDMAGPU_GPU_BY_UUID = 4,
  RDMAGPU_GPU_BY_LUID = 8,
};
typedef struct rdmagpu_gpu_selector {
  uint32_t named;
  int32_t ordinal;
  rdmagpu_pci_address pci;
  uint8_t uuid[16];
  uint8_t luid[8];
} rdmagpu_gpu_selector;

enum {
  RDMAGPU_ZERO_FILL = 1,
  RDMAGPU_SCRUB_ON_DESTROY = 2,
  RDMAGPU_IGNORE_BUDGET = 4,
  RDMAGPU_FORBID_MEMFD = 8,
  RDMAGPU_BIND_NUMA_NODE = 16, /* to numa_node, which is not read otherwise */
};

/* What to allocate; see RdmaGpuBufferConfig. Only the members that `api` needs are read. */
typedef struct rdmagpu_config {
  uint32_t struct_size;
  int32_t api;
  uint32_t slot_count;
  int32_t cuda_device; /* Device ordinal, unless `gpu` names one. */
  uint64_t frame_bytes;
  const void* vulkan_ctx;
  void* d3d12_device;
  rdmagpu_gpu_selector gpu;
  rdmagpu_pci_address peer; /* Where the peer is, if that is present. */
  uint32_t accepts;         /* RDMAGPU_API_AUTO: an RDMAGPU_ACCEPTS() of each handoff; 0: any address. */
  uint32_t flags;
  int32_t page_lock;
  int32_t huge_pages;
  int32_t numa_node;
  int32_t gpu_pin;
  int32_t cuda_memory;
  int32_t pcie_mapping;
  int32_t rdma;
  uint32_t reserved; /* 0 */
} rdmagpu_config;

/* N equal slots. Functions that take it as const may be called from several threads at once. */
typedef struct rdmagpu_buffer rdmagpu_buffer;

/* How many slots of that size fit the memory that is free now. */
RDMAGPU_C_API int rdmagpu_max_slots(const rdmagpu_config* config, uint32_t* slots, rdmagpu_error* error);
/* Allocates every slot or none. */
RDMAGPU_C_API int rdmagpu_buffer_create(const rdmagpu_config* config, rdmagpu_buffer** buffer,
                                        rdmagpu_error* error);
/* Gives up this object's share of the memory. It does not wait for DMA: stop the peer first. */
RDMAGPU_C_API void rdmagpu_buffer_destroy(rdmagpu_buffer* buffer);

typedef struct rdmagpu_slot {
  uint32_t struct_size;
  int32_t handoff_kind; /* Which kind of value this is: no untyped address. */
  uint64_t handoff;     /* What the peer's SDK wants. 64 KiB aligned; 0 where it wants a dma-buf. */
  uint64_t size;        /* Bytes usable: frame_bytes rounded up to the stride. */
  uint64_t offset;      /* Within its region, and so within the fd of the region's export. */
  void* opaque;         /* The backend's own; null for host memory. */
} rdmagpu_slot;

RDMAGPU_C_API uint32_t rdmagpu_buffer_slot_count(const rdmagpu_buffer* buffer);
RDMAGPU_C_API int rdmagpu_buffer_slot(const rdmagpu_buffer* buffer, uint32_t index, rdmagpu_slot* slot,
                                      rdmagpu_error* error);

/* Copies into or out of a slot; returns when done. A range that passes the slot's end is refused. */
RDMAGPU_C_API int rdmagpu_buffer_upload(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t offset,
                                        const void* from, size_t bytes, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_buffer_download(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t offset,
                                          void* to, size_t bytes, rdmagpu_error* error);
/* Makes what a peer wrote visible to the consumer. */
RDMAGPU_C_API int rdmagpu_buffer_flush_peer_writes(const rdmagpu_buffer* buffer, rdmagpu_error* error);

/* Computed, or filled, where the memory lies. */
RDMAGPU_C_API int rdmagpu_buffer_checksum(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t offset,
                                          size_t bytes, uint64_t* checksum, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_buffer_poison(const rdmagpu_buffer* buffer, uint32_t slot, uint64_t seed,
                                        rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_buffer_clear(const rdmagpu_buffer* buffer, uint32_t slot, rdmagpu_error* error);
/* The same of bytes that the CPU reads and writes. */
RDMAGPU_C_API uint64_t rdmagpu_checksum(const void* bytes, size_t size);
RDMAGPU_C_API void rdmagpu_poison(void* bytes, size_t size, uint64_t seed);

/* Lets another GPU use the slots, at the same addresses. */
RDMAGPU_C_API int rdmagpu_buffer_grant_access(const rdmagpu_buffer* buffer, const rdmagpu_gpu_selector* gpu,
                                              rdmagpu_error* error);

/* Keeps a slot's region, and the device it came from, alive until it is released. */
typedef struct rdmagpu_keep_alive rdmagpu_keep_alive;
RDMAGPU_C_API int rdmagpu_buffer_keep_alive(const rdmagpu_buffer* buffer, uint32_t slot,
                                            rdmagpu_keep_alive** kept, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_keep_alive_release(rdmagpu_keep_alive* kept);

typedef enum rdmagpu_pinned_by {
  RDMAGPU_PINNED_BY_NOBODY = 0,
  RDMAGPU_PINNED_BY_PEER = 1,
  RDMAGPU_PINNED_BY_CUDA = 2,
  RDMAGPU_PINNED_BY_HIP = 3,
  RDMAGPU_PINNED_BY_LEVEL_ZERO = 4,
} rdmagpu_pinned_by;
RDMAGPU_C_API const char* rdmagpu_pinned_by_name(int32_t by);     /* "nobody", ...; null for others */
RDMAGPU_C_API const char* rdmagpu_cuda_memory_name(int32_t kind); /* "vmm", ...; null for others */

/* What a buffer is, as system and driver reported it; see BufferFacts. */
typedef struct rdmagpu_facts {
  uint32_t struct_size;
  int32_t api;
  const char* device; /* The GPU's name; for host memory the machine's. Lives as long as the buffer. */
  rdmagpu_pci_address pci;
  uint64_t frame_bytes;
  uint64_t requested_bytes;
  uint64_t committed_bytes;
  uint64_t slot_stride;
  uint64_t region_count;
  uint64_t page_bytes;
  uint64_t huge_page_bytes;
  uint64_t resident_bytes;
  uint64_t locked_bytes;
  uint64_t bar1_bytes;
  uint64_t bar1_free_bytes; /* UINT64_MAX: it cannot run out before the memory does. */
  uint32_t bar1_slots;      /* UINT32_MAX likewise. */
  uint32_t slot_count;
  int32_t pinned_by;
  int32_t numa_node;      /* -1: unknown */
  int32_t direct_for_gpu; /* rdmagpu_answer */
  int32_t rdma_capable;   /* rdmagpu_answer */
  int32_t cuda_memory;
  int32_t sync_memops; /* rdmagpu_answer */
  uint32_t memfd;
  uint32_t writes_need_flush;
  uint64_t p2pmem_bytes;      /* RDMAGPU_API_PCI_P2P: the device's peer-to-peer memory, all of it. */
  uint64_t p2pmem_free_bytes; /* Of it, before the creation. */
  /* rdmagpu_answer: whether other GPUs that were granted access see a peer's writes in order unflushed. */
  int32_t writes_ordered_for_all;
  uint32_t reserved;
} rdmagpu_facts;
RDMAGPU_C_API int rdmagpu_buffer_facts(const rdmagpu_buffer* buffer, rdmagpu_facts* facts,
                                       rdmagpu_error* error);

/* Why something is as the facts say: kind 0 in *reason where there is nothing to explain. */
typedef enum rdmagpu_reason {
  RDMAGPU_REASON_LOCK = 0,        /* Pages are not locked. */
  RDMAGPU_REASON_PIN = 1,         /* No GPU's driver has pinned them. */
  RDMAGPU_REASON_CUDA_MEMORY = 2, /* Why the kind of CUDA memory is not the one that Auto prefers. */
  RDMAGPU_REASON_SYNC_MEMOPS = 3,
} rdmagpu_reason;
RDMAGPU_C_API int rdmagpu_buffer_reason(const rdmagpu_buffer* buffer, int32_t what, rdmagpu_error* reason,
                                        rdmagpu_error* error);
/* Failures that the creation survived. */
RDMAGPU_C_API size_t rdmagpu_buffer_tolerated_count(const rdmagpu_buffer* buffer);
RDMAGPU_C_API bool rdmagpu_buffer_tolerated(const rdmagpu_buffer* buffer, size_t index,
                                            rdmagpu_error* failure);
/* RDMAGPU_API_AUTO: the backends that were tried before, each with what ruled it out. */
RDMAGPU_C_API size_t rdmagpu_buffer_rejected_count(const rdmagpu_buffer* buffer);
RDMAGPU_C_API bool rdmagpu_buffer_rejected(const rdmagpu_buffer* buffer, size_t index, int32_t* api,
                                           rdmagpu_error* why);

typedef enum rdmagpu_agent {
  RDMAGPU_AGENT_NONE = 0,
  RDMAGPU_AGENT_CPU = 1,
  RDMAGPU_AGENT_COPY_ENGINE = 2,
  RDMAGPU_AGENT_SOFTWARE = 3,
  RDMAGPU_AGENT_DEVICE = 4,
} rdmagpu_agent;
RDMAGPU_C_API const char* rdmagpu_agent_name(int32_t agent); /* "cpu", ...; null for others */

/* How far memory has been proven usable by a peer. Each but the last is an rdmagpu_answer. */
typedef struct rdmagpu_proof {
  uint32_t struct_size;
  int32_t allocated;
  int32_t capable;
  int32_t exported;
  int32_t registered;
  int32_t written;
  int32_t read;
  int32_t by; /* rdmagpu_agent */
} rdmagpu_proof;
RDMAGPU_C_API int rdmagpu_buffer_proof(const rdmagpu_buffer* buffer, rdmagpu_proof* proof,
                                       rdmagpu_error* error);

RDMAGPU_C_END
#endif
