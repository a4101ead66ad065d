#ifndef RDMAGPU_RDMAGPU_VERBS_H
#define RDMAGPU_RDMAGPU_VERBS_H

/* Slots registered with RDMA NICs, for C: rdmagpu/verbs.hpp and its neighbours. In a library of its own,
 * rdmagpu::c_verbs, which is built where rdma-core's headers are; what rdmagpu.h says holds here too. */
#include <rdmagpu/c/verify.h>

RDMAGPU_C_BEGIN

struct ibv_pd; /* libibverbs' types, by name only */
struct ibv_mr;

/* The RDMA devices of this machine by name, as `ibv_devices` shows them. */
typedef struct rdmagpu_verbs_names rdmagpu_verbs_names;
RDMAGPU_C_API int rdmagpu_verbs_names_create(rdmagpu_verbs_names** names, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_verbs_names_destroy(rdmagpu_verbs_names* names);
RDMAGPU_C_API size_t rdmagpu_verbs_names_count(const rdmagpu_verbs_names* names);
/* Lives as long as the list. Null: out of range. */
RDMAGPU_C_API const char* rdmagpu_verbs_names_get(const rdmagpu_verbs_names* names, size_t index);

/* A device that is open, with a protection domain, for programs that have no code for verbs themselves. Must
 * outlive what is registered or connected with its domain. */
typedef struct rdmagpu_verbs_device rdmagpu_verbs_device;
RDMAGPU_C_API int rdmagpu_verbs_device_open(const char* name, rdmagpu_verbs_device** device,
                                            rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_verbs_device_destroy(rdmagpu_verbs_device* device);
RDMAGPU_C_API struct ibv_pd* rdmagpu_verbs_device_domain(const rdmagpu_verbs_device* device);
/* Where it is on the PCI bus, for rdmagpu_config's `peer`; not present where no PCI device is behind it. */
RDMAGPU_C_API int rdmagpu_verbs_device_pci(const rdmagpu_verbs_device* device, rdmagpu_pci_address* pci,
                                           rdmagpu_error* error);

/* What a registration allows; ibverbs' own values. */
enum {
  RDMAGPU_ACCESS_LOCAL_WRITE = 1,
  RDMAGPU_ACCESS_REMOTE_WRITE = 2,
  RDMAGPU_ACCESS_REMOTE_READ = 4,
  RDMAGPU_ACCESS_REMOTE_ATOMIC = 8,
};

/* How the NIC reaches the memory; see RegistrationPath. */
typedef enum rdmagpu_verbs_path {
  RDMAGPU_VERBS_PATH_ANY = 0,
  RDMAGPU_VERBS_PATH_HOST_PAGES = 1,
  RDMAGPU_VERBS_PATH_DMA_BUF = 2,
  RDMAGPU_VERBS_PATH_DATA_DIRECT = 3,
  RDMAGPU_VERBS_PATH_PEER_MEMORY = 4,
} rdmagpu_verbs_path;
RDMAGPU_C_API const char* rdmagpu_verbs_path_name(int32_t path); /* "host-pages", ...; null for others */

enum {
  RDMAGPU_VERBS_ONE_SLOT = 1, /* `slot` alone; else all of them, with one key. */
  RDMAGPU_VERBS_AT_IOVA = 2,  /* `iova` is the address of the first byte for the NIC and remote peers. */
  RDMAGPU_VERBS_DATA_DIRECT = 4,
  RDMAGPU_VERBS_RELAXED_ORDERING = 8,
  RDMAGPU_VERBS_ON_DEMAND = 16,
  RDMAGPU_VERBS_FORK_REQUIRE = 32, /* Refuses host pages that a fork would part. */
  RDMAGPU_VERBS_SEND_ONLY = 64,    /* `access`, which is 0, is meant: the NIC only sends from there. */
};

typedef struct rdmagpu_verbs_options {
  uint32_t struct_size;
  uint32_t access; /* 0: local and remote writes, remote reads. */
  int32_t path;    /* rdmagpu_verbs_path: that one and no other. */
  uint32_t flags;
  uint64_t iova;
  uint32_t slot;
  uint32_t reserved; /* 0 */
} rdmagpu_verbs_options;

/* Every path that was tried, and what became of it. */
typedef struct rdmagpu_verbs_attempts rdmagpu_verbs_attempts;
RDMAGPU_C_API void rdmagpu_verbs_attempts_destroy(rdmagpu_verbs_attempts* attempts);
RDMAGPU_C_API size_t rdmagpu_verbs_attempts_count(const rdmagpu_verbs_attempts* attempts);
/* Kind 0 in *failure for the one that was taken. */
RDMAGPU_C_API bool rdmagpu_verbs_attempts_get(const rdmagpu_verbs_attempts* attempts, size_t index,
                                              int32_t* path, rdmagpu_error* failure);
/* One line for each. Returns the text's length. */
RDMAGPU_C_API size_t rdmagpu_verbs_attempts_text(const rdmagpu_verbs_attempts* attempts, char* text,
                                                 size_t size);

/* All slots of a buffer, or one, registered; see VerbsRegistration. The domain must outlive it; it holds the
 * memory. */
typedef struct rdmagpu_verbs_registration rdmagpu_verbs_registration;

typedef struct rdmagpu_verbs_facts {
  uint32_t struct_size;
  int32_t path; /* rdmagpu_verbs_path */
  uint32_t lkey;
  uint32_t rkey;
  uint64_t iova; /* The address of the first slot that is registered. */
  uint64_t size;
  struct ibv_mr* native; /* Its `addr` is no address where a dma-buf was registered. */
} rdmagpu_verbs_facts;

/* `options` may be null. `attempts`, where it is not null, gets every path that was tried, of a failure too;
 * null if memory for that ran out. */
RDMAGPU_C_API int rdmagpu_verbs_registration_create(struct ibv_pd* domain, const rdmagpu_buffer* buffer,
                                                    const rdmagpu_verbs_options* options,
                                                    rdmagpu_verbs_registration** registration,
                                                    rdmagpu_verbs_attempts** attempts, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_verbs_registration_destroy(rdmagpu_verbs_registration* registration);
/* After a failure it is as before, and may be tried again. */
RDMAGPU_C_API int rdmagpu_verbs_registration_deregister(rdmagpu_verbs_registration* registration,
                                                        rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_verbs_registration_facts(const rdmagpu_verbs_registration* registration,
                                                   rdmagpu_verbs_facts* facts, rdmagpu_error* error);
/* Where the NIC, and remote peers, find a slot. False: it is not registered here. */
RDMAGPU_C_API bool rdmagpu_verbs_remote_address(const rdmagpu_verbs_registration* registration, uint32_t slot,
                                                uint64_t* address);

/* A NIC as the peer of a proof: this host's, which sends to itself (VerbsLoopback), or another host's, where
 * a server runs (VerbsRemote). The registration must outlive it, and allow remote writes and reads. One
 * transfer at a time. */
typedef struct rdmagpu_verbs_peer rdmagpu_verbs_peer;

typedef struct rdmagpu_verbs_peer_options {
  uint32_t struct_size;
  uint32_t port;          /* Of the NIC. 0: 1 */
  uint32_t has_gid_index; /* 0: the library chooses. */
  uint32_t gid_index;
  int64_t timeout_ms; /* For the other host to answer each message; 0: ten seconds. */
} rdmagpu_verbs_peer_options;

/* The port that a peer's queue pairs go through. Text lives as long as the peer, or until the server's next
 * client. */
typedef struct rdmagpu_verbs_port {
  uint32_t struct_size;
  uint32_t port;
  uint32_t has_gid_index;
  uint32_t gid_index;
  const char* device;
  const char* gid; /* As an IPv6 address; empty where it is addressed by its LID alone. */
} rdmagpu_verbs_port;

#define RDMAGPU_VERBS_REMOTE_PORT 18516 /* The TCP port where none is named. */

/* `options` may be null. */
RDMAGPU_C_API int rdmagpu_verbs_loopback_create(const rdmagpu_verbs_registration* registration,
                                                const rdmagpu_verbs_peer_options* options,
                                                rdmagpu_verbs_peer** peer, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_verbs_remote_connect(const rdmagpu_verbs_registration* registration,
                                               const char* host, uint16_t tcp_port,
                                               const rdmagpu_verbs_peer_options* options,
                                               rdmagpu_verbs_peer** peer, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_verbs_peer_destroy(rdmagpu_verbs_peer* peer);
RDMAGPU_C_API const char* rdmagpu_verbs_peer_name(const rdmagpu_verbs_peer* peer); /* "verbs:mlx5_0" */
RDMAGPU_C_API int32_t rdmagpu_verbs_peer_agent(const rdmagpu_verbs_peer* peer);    /* rdmagpu_agent */
RDMAGPU_C_API int rdmagpu_verbs_peer_port(const rdmagpu_verbs_peer* peer, rdmagpu_verbs_port* port,
                                          rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_verbs_peer_write(rdmagpu_verbs_peer* peer, uint32_t slot, const void* from,
                                           size_t bytes, rdmagpu_error* error);
RDMAGPU_C_API int rdmagpu_verbs_peer_read(rdmagpu_verbs_peer* peer, uint32_t slot, void* to, size_t bytes,
                                          rdmagpu_error* error);
/* As rdmagpu_verify(). */
RDMAGPU_C_API int rdmagpu_verbs_peer_verify(rdmagpu_verbs_peer* peer, const rdmagpu_buffer* buffer,
                                            const rdmagpu_verify_options* options, rdmagpu_report** report,
                                            rdmagpu_error* error);
/* Tells the other host what came of it, in rdmagpu_answer. Nothing can be transferred after that. Of a
 * loopback it does nothing. */
RDMAGPU_C_API int rdmagpu_verbs_peer_finish(rdmagpu_verbs_peer* peer, int32_t written, int32_t read,
                                            rdmagpu_error* error);

/* The other host's side; see VerbsServer. */
typedef struct rdmagpu_verbs_server rdmagpu_verbs_server;

/* What one client has had done. */
typedef struct rdmagpu_verbs_served {
  uint32_t struct_size;
  int32_t write_proven; /* rdmagpu_answer, as the client says */
  int32_t read_proven;
  uint32_t reserved;
  const char* client; /* Its address; lives until the next client. */
  uint64_t written;   /* Bytes, by RDMA WRITE. */
  uint64_t read;
} rdmagpu_verbs_served;

/* A host that is null: every address of this one. TCP port 0: one that is free. */
RDMAGPU_C_API int rdmagpu_verbs_server_listen(struct ibv_pd* domain, const char* host, uint16_t tcp_port,
                                              const rdmagpu_verbs_peer_options* options,
                                              rdmagpu_verbs_server** server, rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_verbs_server_destroy(rdmagpu_verbs_server* server);
RDMAGPU_C_API uint16_t rdmagpu_verbs_server_tcp_port(const rdmagpu_verbs_server* server);
/* Waits for a client for as long as it takes, and serves it to its end. `port` may be null. */
RDMAGPU_C_API int rdmagpu_verbs_server_serve(rdmagpu_verbs_server* server, rdmagpu_verbs_served* served,
                                             rdmagpu_verbs_port* port, rdmagpu_error* error);

RDMAGPU_C_END
#endif
