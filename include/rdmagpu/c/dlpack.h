#ifndef RDMAGPU_C_DLPACK_H
#define RDMAGPU_C_DLPACK_H

#include <rdmagpu/c/buffer.h>

RDMAGPU_C_BEGIN

enum {
  RDMAGPU_TENSOR_VERSIONED = 1, /* A DLManagedTensorVersioned, of DLPack 1.0; else a DLManagedTensor. */
  RDMAGPU_TENSOR_READ_ONLY = 2, /* Versioned only: the other has no way to say so. */
};

/* A slot, or part of it, as DLPack describes it to other libraries. */
typedef struct rdmagpu_tensor {
  uint32_t struct_size;
  uint32_t slot;
  uint64_t offset;        /* Of the first element, in bytes from the slot's start. */
  const int64_t* shape;   /* Of `dimensions` each; read during the call only. */
  const int64_t* strides; /* In elements, none negative. Null: rows lie one behind the other. */
  uint32_t dimensions;    /* At most 64. */
  uint8_t type_code;      /* A DLDataTypeCode: 0 int, 1 uint, 2 float, ... */
  uint8_t type_bits;      /* Whole bytes. */
  uint16_t type_lanes;
  uint32_t flags;
  int32_t device_type; /* A DLDeviceType, if it is to be another than rdmagpu_buffer_dlpack_device() tells:
                        * kDLCPU for pinned host memory. 0: that one. */
} rdmagpu_tensor;

/* Where DLPack says the slots are: kDLCPU, kDLCUDAHost for host memory that CUDA's driver has pinned, or
 * kDLCUDA with the ordinal of the GPU. Unsupported where the slots have no address that DLPack has a device
 * for. */
RDMAGPU_C_API int rdmagpu_buffer_dlpack_device(const rdmagpu_buffer* buffer, int32_t* device_type,
                                               int32_t* device_id, rdmagpu_error* error);
/* Makes a DLManagedTensor, or the versioned one, which keeps the slot's region alive. Whoever has it calls
 * its deleter once, on any thread. */
RDMAGPU_C_API int rdmagpu_buffer_dlpack(const rdmagpu_buffer* buffer, const rdmagpu_tensor* tensor,
                                        void** managed, rdmagpu_error* error);

RDMAGPU_C_END
#endif
