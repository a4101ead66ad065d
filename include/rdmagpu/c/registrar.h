#ifndef RDMAGPU_C_REGISTRAR_H
#define RDMAGPU_C_REGISTRAR_H

#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/staged.h>
#include <rdmagpu/c/verify.h>

RDMAGPU_C_BEGIN

/* The slots of a buffer, pinned by the SDK of a peer through callbacks; see PeerRegistration. For one thread
 * at a time. Holds the memory until it is unpinned. */
typedef struct rdmagpu_registration rdmagpu_registration;

/* Memory that is to be pinned. */
typedef struct rdmagpu_pin_view {
  uint32_t struct_size;
  int32_t handoff_kind; /* RDMAGPU_HANDOFF_DMA_BUF where it goes as a dma-buf. */
  uint64_t handoff;     /* Its first byte. */
  uint64_t bytes;
  uint32_t slot; /* The first one in it. */
  uint32_t slot_count;
  int32_t dma_buf; /* Borrowed, open until it was unpinned; -1 where it goes by its address. */
  uint32_t reserved;
  uint64_t dma_buf_offset;
} rdmagpu_pin_view;

/* A slot that is pinned. */
typedef struct rdmagpu_pinned_slot {
  uint32_t struct_size;
  int32_t handoff_kind; /* The buffer's, whatever it was pinned by. */
  uint64_t handoff;
  uint64_t bytes;
  uint64_t key;    /* What `pin` gave. */
  uint64_t offset; /* From the first byte of what was pinned by that call. */
  uint32_t slot;
  uint32_t reserved;
} rdmagpu_pinned_slot;

typedef enum rdmagpu_pin_unit {
  RDMAGPU_PIN_SLOT = 0,
  RDMAGPU_PIN_REGION = 1, /* All slots of a buffer in one piece. */
} rdmagpu_pin_unit;

enum {
  RDMAGPU_PIN_MEM_ALLOC_ONLY = 1, /* Of CUDA's memory, only cuMemAlloc's. */
  RDMAGPU_PIN_VERIFY = 2,         /* Creation verifies, and undoes all where that fails. */
};

/* How a peer's SDK pins memory. Each callback returns 0, or an rdmagpu_errc and fills *error, which is ready
 * to be filled; none may use the registration that calls it. `pin` and `unpin` must be set; the others may be
 * null. All is copied but what `context` and `name` point to, which must live until the registration was
 * destroyed. */
typedef struct rdmagpu_registrar {
  uint32_t struct_size;
  int32_t unit;     /* rdmagpu_pin_unit */
  const char* name; /* For reports. Null: "peer". */
  void* context;
  uint32_t accepts; /* An RDMAGPU_ACCEPTS() of each handoff; 0: any address. */
  uint32_t flags;
  uint64_t alignment;       /* Of addresses, and of sizes. 0: any. */
  uint64_t max_bytes;       /* Of one pin. 0: any. */
  uint64_t max_total_bytes; /* Of all pins together. 0: any. */
  int (*pin)(void* context, const rdmagpu_pin_view* view, uint64_t* key, rdmagpu_error* error);
  int (*unpin)(void* context, const rdmagpu_pin_view* view, uint64_t key, rdmagpu_error* error);
  int (*quiesce)(void* context, rdmagpu_error* error);
  int (*write)(void* context, const rdmagpu_pinned_slot* slot, const void* bytes, size_t size,
               rdmagpu_error* error);
  int (*read)(void* context, const rdmagpu_pinned_slot* slot, void* bytes, size_t size, rdmagpu_error* error);
  int32_t agent;                                /* rdmagpu_agent: who moves these bytes. 0: software. */
  uint32_t reserved;                            /* 0 */
  const rdmagpu_verify_options* verify_options; /* With RDMAGPU_PIN_VERIFY. Null: the defaults. */
} rdmagpu_registrar;

/* Pins all slots or none. */
RDMAGPU_C_API int rdmagpu_registration_create(const rdmagpu_buffer* buffer,
                                              const rdmagpu_registrar* registrar,
                                              rdmagpu_registration** registration, rdmagpu_error* error);
/* Those that the peer may ever be handed. */
RDMAGPU_C_API int rdmagpu_registration_create_staged(const rdmagpu_staged* staged,
                                                     const rdmagpu_registrar* registrar,
                                                     rdmagpu_registration** registration,
                                                     rdmagpu_error* error);
/* As rdmagpu_registration_release() before; what cannot be unpinned is kept for good, and the log told. */
RDMAGPU_C_API void rdmagpu_registration_destroy(rdmagpu_registration* registration);
/* Quiesces the peer, and unpins all, the last one first. What could not be unpinned may be tried again. */
RDMAGPU_C_API int rdmagpu_registration_release(rdmagpu_registration* registration, rdmagpu_error* error);

/* 0: nothing is pinned. */
RDMAGPU_C_API uint64_t rdmagpu_registration_slot_count(const rdmagpu_registration* registration);
/* Of several buffers, one behind the other. */
RDMAGPU_C_API int rdmagpu_registration_slot(const rdmagpu_registration* registration, uint64_t index,
                                            rdmagpu_pinned_slot* slot, rdmagpu_error* error);
/* The one of that handoff, such as rdmagpu_staged_handoff()'s; its bytes are 0 where there is none. */
RDMAGPU_C_API int rdmagpu_registration_slot_of(const rdmagpu_registration* registration, int32_t kind,
                                               uint64_t handoff, rdmagpu_pinned_slot* slot,
                                               rdmagpu_error* error);
/* As rdmagpu_verify(), of a buffer whose slots are pinned here. */
RDMAGPU_C_API int rdmagpu_registration_verify(rdmagpu_registration* registration,
                                              const rdmagpu_buffer* buffer,
                                              const rdmagpu_verify_options* options, rdmagpu_report** report,
                                              rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_registration_proof(const rdmagpu_registration* registration, rdmagpu_proof* proof,
                                             rdmagpu_error* error);

RDMAGPU_C_END
#endif
