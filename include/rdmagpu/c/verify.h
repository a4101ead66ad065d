#ifndef RDMAGPU_C_VERIFY_H
#define RDMAGPU_C_VERIFY_H

#include <rdmagpu/c/buffer.h>

RDMAGPU_C_BEGIN

/* A device that can be told to write or read one slot, from its start; see Peer. Each callback returns 0, or
 * an rdmagpu_errc and fills *error, which is ready to be filled. Null: this peer cannot. */
typedef struct rdmagpu_peer {
  uint32_t struct_size;
  int32_t agent;    /* rdmagpu_agent */
  const char* name; /* For reports, which have it copied; null: none. */
  void* context;
  int (*write)(void* context, uint32_t slot, const void* bytes, size_t size, rdmagpu_error* error);
  int (*read)(void* context, uint32_t slot, void* bytes, size_t size, rdmagpu_error* error);
} rdmagpu_peer;

typedef struct rdmagpu_verify_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t bytes; /* Of each slot, from its start; 0: the whole slot. */
  uint64_t seed;  /* 0: 1 */
} rdmagpu_verify_options;

/* A slot that did not hold, or the peer did not get, what was sent. */
typedef struct rdmagpu_verify_failure {
  uint32_t struct_size;
  uint32_t slot;
  uint32_t read;      /* 0: the peer was to write. */
  uint32_t untouched; /* Nothing arrived at all, although the peer reported success. */
  uint64_t offset;    /* The first byte that is wrong. */
  uint64_t wrong_bytes;
} rdmagpu_verify_failure;

typedef struct rdmagpu_report rdmagpu_report;
typedef struct rdmagpu_report_facts {
  uint32_t struct_size;
  uint32_t slots;
  const char* peer; /* Lives as long as the report. */
  int32_t write;    /* rdmagpu_answer: peer -> memory */
  int32_t read;     /* rdmagpu_answer: memory -> peer */
  uint64_t failure_count;
} rdmagpu_report_facts;

/* Proves that bytes really move, slot by slot and each direction by itself. Overwrites the slots. `peer`
 * null: a software peer, which proves this library's own plumbing; `options` may be null. An error means that
 * the check itself could not be done; bytes that did not arrive are in the report. */
RDMAGPU_C_API int rdmagpu_verify(const rdmagpu_buffer* buffer, const rdmagpu_peer* peer,
                                 const rdmagpu_verify_options* options, rdmagpu_report** report,
                                 rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_report_destroy(rdmagpu_report* report);
RDMAGPU_C_API int rdmagpu_report_facts_of(const rdmagpu_report* report, rdmagpu_report_facts* facts,
                                          rdmagpu_error* error);
/* The buffer's, with written, read and by filled in. */
RDMAGPU_C_API int rdmagpu_report_proof(const rdmagpu_report* report, rdmagpu_proof* proof,
                                       rdmagpu_error* error);
/* Of the first transfer of that direction that itself failed, or why none was tried; kind 0: none. */
RDMAGPU_C_API int rdmagpu_report_reason(const rdmagpu_report* report, bool read, rdmagpu_error* reason,
                                        rdmagpu_error* error);
/* `cause`, where it is not null, gets why the transfer itself failed; kind 0: it did not, and was compared.
 */
RDMAGPU_C_API bool rdmagpu_report_failure(const rdmagpu_report* report, size_t index,
                                          rdmagpu_verify_failure* failure, rdmagpu_error* cause);

RDMAGPU_C_END
#endif
