#ifndef RDMAGPU_C_BLOCK_PEER_H
#define RDMAGPU_C_BLOCK_PEER_H

#include <rdmagpu/c/verify.h>

RDMAGPU_C_BEGIN

/* A block device whose own DMA engine writes the slots and reads them; see BlockPeer. Holds the slots'
 * memory. One transfer at a time. */
typedef struct rdmagpu_block_peer rdmagpu_block_peer;

enum {
  RDMAGPU_BLOCK_OVERWRITE = 1, /* Lets bytes be written to the device, whose own are lost. */
};

typedef struct rdmagpu_block_peer_facts {
  uint32_t struct_size;
  int32_t agent;    /* rdmagpu_agent: the device, or software where none is known to be behind it. */
  const char* name; /* "block:/dev/nvme0n1"; lives as long as the peer. */
  uint64_t size;    /* Bytes of the device. */
  rdmagpu_pci_address pci;
} rdmagpu_block_peer_facts;

RDMAGPU_C_API int rdmagpu_block_peer_open(const rdmagpu_buffer* buffer, const char* path, uint32_t flags,
                                          rdmagpu_block_peer** peer, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_block_peer_destroy(rdmagpu_block_peer* peer);
RDMAGPU_C_API int rdmagpu_block_peer_facts_of(const rdmagpu_block_peer* peer, rdmagpu_block_peer_facts* facts,
                                              rdmagpu_error* error);
/* How many of the device's bytes, from its start, are lost when `bytes` of a slot are moved. */
RDMAGPU_C_API uint64_t rdmagpu_block_peer_overwritten(const rdmagpu_block_peer* peer, uint64_t bytes);

/* With RDMAGPU_BLOCK_OVERWRITE: the device writes these bytes into the slot, or reads the slot. */
RDMAGPU_C_API int rdmagpu_block_peer_write(rdmagpu_block_peer* peer, uint32_t slot, const void* from,
                                           size_t bytes, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_block_peer_read(rdmagpu_block_peer* peer, uint32_t slot, void* to, size_t bytes,
                                          rdmagpu_error* error);
/* Without: what the device has for a slot, read to host memory; and written by the device into the slot. */
RDMAGPU_C_API int rdmagpu_block_peer_fetch(rdmagpu_block_peer* peer, uint32_t slot, void* to, size_t bytes,
                                           rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_block_peer_fill(rdmagpu_block_peer* peer, uint32_t slot, uint64_t bytes,
                                          rdmagpu_error* error);
/* As rdmagpu_verify(). */
RDMAGPU_C_API int rdmagpu_block_peer_verify(rdmagpu_block_peer* peer, const rdmagpu_buffer* buffer,
                                            const rdmagpu_verify_options* options, rdmagpu_report** report,
                                            rdmagpu_error* error);

RDMAGPU_C_END
#endif
