#ifndef RDMAGPU_RDMAGPU_CUFILE_H
#define RDMAGPU_RDMAGPU_CUFILE_H

/* Files read into slots, and slots written to files, for C: rdmagpu/cufile.hpp and its neighbour. In a
 * library of its own, rdmagpu::c_cufile; what rdmagpu.h says holds here too. NVIDIA's libcufile.so.0 is
 * opened when it is first wanted. */
#include <rdmagpu/c/verify.h>

RDMAGPU_C_BEGIN

/* Which way the bytes go between a file and a slot; see StoragePath. */
typedef enum rdmagpu_storage_path {
  RDMAGPU_STORAGE_PATH_DIRECT = 0,
  RDMAGPU_STORAGE_PATH_PEER_TO_PEER = 1,
  RDMAGPU_STORAGE_PATH_UNDECIDED = 2,
  RDMAGPU_STORAGE_PATH_COMPATIBILITY = 3,
  RDMAGPU_STORAGE_PATH_HOST_SLOT = 4,
  RDMAGPU_STORAGE_PATH_PAGE_CACHE = 5,
} rdmagpu_storage_path;
RDMAGPU_C_API const char* rdmagpu_storage_path_name(int32_t path); /* "direct", ...; null for others */
/* Whether nothing lies in between, as an rdmagpu_answer. */
RDMAGPU_C_API int32_t rdmagpu_storage_is_direct(int32_t path);

typedef enum rdmagpu_cufile_use {
  RDMAGPU_CUFILE_TRY = 0,     /* The reason says why it is not used. */
  RDMAGPU_CUFILE_REQUIRE = 1, /* What cuFile does not take fails. */
  RDMAGPU_CUFILE_OFF = 2,
} rdmagpu_cufile_use;

/* What cuFile said of itself; all 0 but the path where it is not used. */
typedef struct rdmagpu_cufile_facts {
  uint32_t struct_size;
  int32_t path;    /* rdmagpu_storage_path: what a file that is opened here may hope for. */
  int32_t version; /* 1150: 1.15. 0: it does not tell. */
  uint32_t nvidia_fs_major;
  uint32_t nvidia_fs_minor;
  uint32_t compat_allowed;
  uint32_t compat_forced;
  int32_t nvidia_fs_loaded; /* rdmagpu_answer */
} rdmagpu_cufile_facts;

/* All slots of a buffer, registered once for all files; see CuFileRegistration. It and each of its files hold
 * the memory, whichever goes first. Functions that take it as const may be called from several threads. */
typedef struct rdmagpu_cufile_registration rdmagpu_cufile_registration;
/* `use`: an rdmagpu_cufile_use. */
RDMAGPU_C_API int rdmagpu_cufile_registration_create(const rdmagpu_buffer* buffer, int32_t use,
                                                     rdmagpu_cufile_registration** registration,
                                                     rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_cufile_registration_destroy(rdmagpu_cufile_registration* registration);
RDMAGPU_C_API int rdmagpu_cufile_registration_facts(const rdmagpu_cufile_registration* registration,
                                                    rdmagpu_cufile_facts* facts, rdmagpu_error* error);
/* Why the path is not direct, or not known to be; kind 0 in *reason where it is. */
RDMAGPU_C_API int rdmagpu_cufile_registration_reason(const rdmagpu_cufile_registration* registration,
                                                     rdmagpu_error* reason, rdmagpu_error* error);
/* Waits for transfers under way; files of it are refused from then on. After a failure all is as before. */
RDMAGPU_C_API int rdmagpu_cufile_registration_deregister(rdmagpu_cufile_registration* registration,
                                                         rdmagpu_error* error);

typedef enum rdmagpu_file_access {
  RDMAGPU_FILE_READ = 0,
  RDMAGPU_FILE_WRITE = 1, /* And read. */
} rdmagpu_file_access;

/* What a transfer did. */
typedef struct rdmagpu_file_transfer {
  uint32_t struct_size;
  int32_t path;   /* rdmagpu_storage_path, of these bytes */
  uint64_t bytes; /* Fewer than were asked for where a read has come to the file's end. */
} rdmagpu_file_transfer;

/* A regular file, or a block device, for the slots of one registration; see CuFile. Any thread may read and
 * write. It must not be destroyed during a transfer. */
typedef struct rdmagpu_cufile rdmagpu_cufile;
/* Opens a file that is there. `access`: an rdmagpu_file_access. */
RDMAGPU_C_API int rdmagpu_cufile_open(const rdmagpu_cufile_registration* registration, const char* path,
                                      int32_t access, rdmagpu_cufile** file, rdmagpu_error* error);
/* The file behind a descriptor, which stays the caller's, and may be closed at once. */
RDMAGPU_C_API int rdmagpu_cufile_of(const rdmagpu_cufile_registration* registration, int fd,
                                    rdmagpu_cufile** file, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_cufile_destroy(rdmagpu_cufile* file);
/* How aligned transfers go, as an rdmagpu_storage_path; -1: null. */
RDMAGPU_C_API int32_t rdmagpu_cufile_path(const rdmagpu_cufile* file);
RDMAGPU_C_API int rdmagpu_cufile_reason(const rdmagpu_cufile* file, rdmagpu_error* reason,
                                        rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_size(const rdmagpu_cufile* file, uint64_t* size, rdmagpu_error* error);
/* Moves bytes from the file into the slot, or from the slot into the file, and returns when they are there.
 * `transfer` may be null. What has been read before an error is error->available. */
RDMAGPU_C_API int rdmagpu_cufile_read(const rdmagpu_cufile* file, uint32_t slot, size_t bytes,
                                      uint64_t file_offset, size_t slot_offset,
                                      rdmagpu_file_transfer* transfer, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_write(const rdmagpu_cufile* file, uint32_t slot, size_t bytes,
                                       uint64_t file_offset, size_t slot_offset,
                                       rdmagpu_file_transfer* transfer, rdmagpu_error* error);

/* A file as the peer of a proof; see CuFilePeer. Holds the slots' memory. One transfer at a time. */
typedef struct rdmagpu_cufile_peer rdmagpu_cufile_peer;

enum {
  RDMAGPU_CUFILE_OVERWRITE = 1, /* Lets bytes be written to the file, whose own are lost. */
};

typedef struct rdmagpu_cufile_peer_facts {
  uint32_t struct_size;
  int32_t agent;    /* rdmagpu_agent */
  const char* name; /* "cufile:/data/clip.raw"; lives as long as the peer. */
  uint64_t size;    /* Of the file, when it was opened. */
  int32_t path;     /* rdmagpu_storage_path of the last transfer; before one, of the file. */
  uint32_t reserved;
} rdmagpu_cufile_peer_facts;

RDMAGPU_C_API int rdmagpu_cufile_peer_open(const rdmagpu_buffer* buffer, const char* path, int32_t use,
                                           uint32_t flags, rdmagpu_cufile_peer** peer, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_cufile_peer_destroy(rdmagpu_cufile_peer* peer);
RDMAGPU_C_API int rdmagpu_cufile_peer_facts_of(const rdmagpu_cufile_peer* peer,
                                               rdmagpu_cufile_peer_facts* facts, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_peer_cufile_facts(const rdmagpu_cufile_peer* peer,
                                                   rdmagpu_cufile_facts* facts, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_peer_reason(const rdmagpu_cufile_peer* peer, rdmagpu_error* reason,
                                             rdmagpu_error* error);
/* How many of the file's bytes, from its start, are lost when `bytes` of a slot are moved. */
RDMAGPU_C_API uint64_t rdmagpu_cufile_peer_overwritten(const rdmagpu_cufile_peer* peer, uint64_t bytes);
/* As those of an rdmagpu_block_peer. */
RDMAGPU_C_API int rdmagpu_cufile_peer_write(rdmagpu_cufile_peer* peer, uint32_t slot, const void* from,
                                            size_t bytes, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_peer_read(rdmagpu_cufile_peer* peer, uint32_t slot, void* to, size_t bytes,
                                           rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_peer_fetch(rdmagpu_cufile_peer* peer, uint32_t slot, void* to, size_t bytes,
                                            rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_peer_fill(rdmagpu_cufile_peer* peer, uint32_t slot, uint64_t bytes,
                                           rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_cufile_peer_verify(rdmagpu_cufile_peer* peer, const rdmagpu_buffer* buffer,
                                             const rdmagpu_verify_options* options, rdmagpu_report** report,
                                             rdmagpu_error* error);

RDMAGPU_C_END
#endif
