#ifndef RDMAGPU_C_ERROR_H
#define RDMAGPU_C_ERROR_H

#include <rdmagpu/c/base.h>

RDMAGPU_C_BEGIN

/* What a program can do about a failure. Branch on this, never on the code. */
typedef enum rdmagpu_errc {
  RDMAGPU_OK = 0,
  RDMAGPU_INVALID_ARGUMENT = 1, /* The request could not succeed on any machine. */
  RDMAGPU_NOT_FOUND = 2,        /* No such driver, device or file on this machine. */
  RDMAGPU_UNSUPPORTED = 3,      /* Present, but cannot do this. */
  RDMAGPU_TOO_OLD = 4,          /* Present, and a newer version could do this. */
  RDMAGPU_PERMISSION = 5,       /* The operating system refused. */
  RDMAGPU_OUT_OF_MEMORY = 6,    /* VRAM, BAR space, address space or host memory is used up. */
  RDMAGPU_BUSY = 7,             /* May work later. */
  RDMAGPU_LOST = 8,             /* Device or driver is gone until the process restarts. */
  RDMAGPU_INTERNAL = 9,         /* A bug here, or a driver answer this library does not know. */
} rdmagpu_errc;

/* Which component answered. Names the code space that the code belongs to. */
typedef enum rdmagpu_origin {
  RDMAGPU_ORIGIN_LIBRARY = 0,
  RDMAGPU_ORIGIN_OS = 1,
  RDMAGPU_ORIGIN_CUDA = 2,
  RDMAGPU_ORIGIN_VULKAN = 3,
  RDMAGPU_ORIGIN_D3D12 = 4,
  RDMAGPU_ORIGIN_NVAPI = 5,
  RDMAGPU_ORIGIN_HIP = 6,
  RDMAGPU_ORIGIN_HSA = 7,
  RDMAGPU_ORIGIN_LEVEL_ZERO = 8,
  RDMAGPU_ORIGIN_VERBS = 9,
  RDMAGPU_ORIGIN_FABRIC = 10,
  RDMAGPU_ORIGIN_VIDEO_MASTER = 11,
  RDMAGPU_ORIGIN_PEER = 12,
  RDMAGPU_ORIGIN_CUFILE = 13,
} rdmagpu_origin;

/* One failure. Copy it freely: its pointers are to static text, and null only in one that no function has
 * filled. Text that a callback names must be static, too. */
typedef struct rdmagpu_error {
  uint32_t struct_size;
  int32_t kind;            /* rdmagpu_errc */
  int32_t origin;          /* rdmagpu_origin */
  int32_t device;          /* Device ordinal; -1: none. */
  int64_t code;            /* The component's own; errno for RDMAGPU_ORIGIN_OS. */
  const char* call;        /* The call that failed, as its vendor spells it. */
  const char* code_name;   /* The vendor's name for the code, or empty. */
  const char* finding;     /* The doctor's id for this kind of failure. */
  uint64_t bytes;          /* The size or count that was asked for, when the call had one. */
  uint64_t available;      /* What there was, or the limit, when that is known. */
  int32_t slot;            /* Slot index; -1: none. */
  uint32_t has_uuid;       /* 0: uuid says nothing. */
  rdmagpu_pci_address pci; /* Of the device that was named, when it was by its address. */
  uint8_t uuid[16];        /* The same, when it was by its UUID. */
  int32_t fd;              /* Descriptor that was handed over, when it is what was wrong. */
  uint32_t has_fd;         /* 0: fd says nothing. */
  uint64_t total;          /* How much there is in all, when nobody tells what of it is free. */
} rdmagpu_error;

/* One line: what failed, the rule it broke, and the numbers. Returns the text's length. */
RDMAGPU_C_API size_t rdmagpu_error_message(const rdmagpu_error* error, char* text, size_t size);
/* What to do about it, most likely cause first. */
RDMAGPU_C_API size_t rdmagpu_error_hint_count(const rdmagpu_error* error);
RDMAGPU_C_API const char* rdmagpu_error_hint(const rdmagpu_error* error,
                                             size_t index); /* null: out of range */

/* "None", "InvalidArgument", ...; "Library", "Os", ...; null for a number that is none. */
RDMAGPU_C_API const char* rdmagpu_errc_name(int32_t kind);
RDMAGPU_C_API const char* rdmagpu_origin_name(int32_t origin);

/* One row of the table behind rdmagpu_error_hint(), in the order in which they are matched. */
typedef struct rdmagpu_hint {
  uint32_t struct_size;
  int32_t origin;   /* rdmagpu_origin */
  const char* call; /* Empty: any call of that origin. */
  int64_t code;     /* RDMAGPU_HINT_ANY_CODE: any code of that call. */
  const char* code_name;
  const char* finding;
  const char* const* sentences; /* Most likely cause first. */
  uint64_t sentence_count;
} rdmagpu_hint;
#define RDMAGPU_HINT_ANY_CODE INT64_MIN
RDMAGPU_C_API size_t rdmagpu_hint_count(void);
RDMAGPU_C_API bool rdmagpu_hint_get(size_t index, rdmagpu_hint* hint); /* false: out of range */

RDMAGPU_C_END
#endif
