#ifndef RDMAGPU_C_BACKENDS_H
#define RDMAGPU_C_BACKENDS_H

#include <rdmagpu/c/buffer.h>

RDMAGPU_C_BEGIN

/* The backends of this build in RDMAGPU_API_AUTO's order, and what each finds on this machine. */
typedef struct rdmagpu_backends rdmagpu_backends;

typedef struct rdmagpu_backend_info {
  uint32_t struct_size;
  int32_t api;
  uint32_t available;
  uint32_t device_count;
} rdmagpu_backend_info;

typedef struct rdmagpu_device_info {
  uint32_t struct_size;
  int32_t rdma_capable; /* rdmagpu_answer */
  const char* name;     /* Lives as long as the list. */
  rdmagpu_pci_address pci;
} rdmagpu_device_info;

RDMAGPU_C_API int rdmagpu_backends_create(rdmagpu_backends** backends, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_backends_destroy(rdmagpu_backends* backends);
RDMAGPU_C_API size_t rdmagpu_backends_count(const rdmagpu_backends* backends);
/* `reason`, where it is not null, gets why the backend is not available; kind 0 when it is. */
RDMAGPU_C_API bool rdmagpu_backends_get(const rdmagpu_backends* backends, size_t index,
                                        rdmagpu_backend_info* info, rdmagpu_error* reason);
RDMAGPU_C_API bool rdmagpu_backends_device(const rdmagpu_backends* backends, size_t index, size_t device,
                                           rdmagpu_device_info* info);

RDMAGPU_C_END
#endif
