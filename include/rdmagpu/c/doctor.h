#ifndef RDMAGPU_C_DOCTOR_H
#define RDMAGPU_C_DOCTOR_H

#include <rdmagpu/c/error.h>

RDMAGPU_C_BEGIN

/* Which peers can reach which GPU's memory on this machine, and what stands in the way; see diagnose(). */
typedef enum rdmagpu_severity {
  RDMAGPU_SEVERITY_NOTE = 0,
  RDMAGPU_SEVERITY_WARNING = 1,
  RDMAGPU_SEVERITY_BLOCKER = 2,
} rdmagpu_severity;

/* What a peer can do with a GPU's memory by one route, from best to worst. */
typedef enum rdmagpu_verdict {
  RDMAGPU_VERDICT_DIRECT = 0,
  RDMAGPU_VERDICT_WRITE_ONLY = 1,
  RDMAGPU_VERDICT_READ_ONLY = 2,
  RDMAGPU_VERDICT_UNKNOWN = 3,
  RDMAGPU_VERDICT_STAGED = 4,
  RDMAGPU_VERDICT_BLOCKED = 5,
} rdmagpu_verdict;

typedef enum rdmagpu_route {
  RDMAGPU_ROUTE_DMA_BUF = 0,
  RDMAGPU_ROUTE_PEER_MEMORY = 1,
  RDMAGPU_ROUTE_NVIDIA_P2P = 2,
  RDMAGPU_ROUTE_HOST = 3,
} rdmagpu_route;

typedef enum rdmagpu_distance {
  RDMAGPU_DISTANCE_UNKNOWN = 0,
  RDMAGPU_DISTANCE_SAME_SWITCH = 1,
  RDMAGPU_DISTANCE_SAME_ROOT_PORT = 2,
  RDMAGPU_DISTANCE_SAME_HOST_BRIDGE = 3,
  RDMAGPU_DISTANCE_OTHER_HOST_BRIDGE = 4,
  RDMAGPU_DISTANCE_ACROSS_SOCKETS = 5,
} rdmagpu_distance;

typedef enum rdmagpu_machine_role {
  RDMAGPU_ROLE_BRIDGE = 0,
  RDMAGPU_ROLE_GPU = 1,
  RDMAGPU_ROLE_NIC = 2,
  RDMAGPU_ROLE_CARD = 3,
} rdmagpu_machine_role;

/* In words: "note", "write-only", "dma-buf", "across-sockets", "gpu"; null for numbers that are none. */
RDMAGPU_C_API const char* rdmagpu_severity_name(int32_t severity);
RDMAGPU_C_API const char* rdmagpu_verdict_name(int32_t verdict);
RDMAGPU_C_API const char* rdmagpu_route_name(int32_t route);
RDMAGPU_C_API const char* rdmagpu_distance_name(int32_t distance);
RDMAGPU_C_API const char* rdmagpu_machine_role_name(int32_t role);

/* Text that is null is not said. */
typedef struct rdmagpu_doctor_options {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  const char* root;  /* Replaces "/": a recorded machine. */
  const char* gpu;   /* Only this GPU, by its PCI address. */
  const char* peer;  /* Only this peer, by its PCI address or the name of its RDMA device. */
} rdmagpu_doctor_options;

/* Text of what follows lives as long as the diagnosis, and is never null. */
typedef struct rdmagpu_diagnosis rdmagpu_diagnosis;
typedef struct rdmagpu_diagnosis_facts {
  uint32_t struct_size;
  int32_t verdict; /* rdmagpu_verdict: the best that any pair has. */
  const char* kernel;
  const char* driver;     /* NVIDIA's version and flavour; empty: there is none. */
  uint64_t finding_count; /* The worst comes first. */
  uint64_t pair_count;
  uint64_t device_count;
  uint64_t root_would_add_count;
} rdmagpu_diagnosis_facts;

/* Something about the machine that is worth telling; every id is in docs/doctor.md. */
typedef struct rdmagpu_finding {
  uint32_t struct_size;
  int32_t severity; /* rdmagpu_severity */
  const char* id;
  const char* title;
  const char* evidence; /* The file and what it says. */
  const char* fix;      /* What to do; may be empty. */
  const char* risk;
  const char* device; /* Empty: the machine. */
} rdmagpu_finding;

typedef struct rdmagpu_pair_verdict {
  uint32_t struct_size;
  int32_t route;    /* rdmagpu_route */
  int32_t verdict;  /* rdmagpu_verdict */
  int32_t distance; /* rdmagpu_distance */
  const char* gpu;
  const char* peer;           /* Empty: any peer, of a machine that has none. */
  const char* const* because; /* Ids of findings, the most decisive first. */
  uint64_t because_count;
} rdmagpu_pair_verdict;

/* A GPU, a peer, or a bridge on the way to one of them. */
typedef struct rdmagpu_machine_device {
  uint32_t struct_size;
  int32_t role;   /* rdmagpu_machine_role */
  const char* id; /* The PCI address, or the name of a device that has none. */
  const char* name;
  const char* driver;  /* Of the kernel; empty: none is bound. */
  const char* link;    /* "x16 32.0 GT/s", of this moment. */
  uint64_t bar_bytes;  /* Of a GPU: the window through which it shows its memory. */
  uint64_t path_count; /* See rdmagpu_diagnosis_path(). */
  int32_t numa_node;   /* -1: unknown */
  uint32_t has_bar;    /* 0: bar_bytes says nothing. */
} rdmagpu_machine_device;

/* Looks at what the kernel tells, and concludes. Changes nothing, tries nothing, starts no driver. What is
 * missing or damaged counts as unknown. `options` may be null. */
RDMAGPU_C_API int rdmagpu_diagnose(const rdmagpu_doctor_options* options, rdmagpu_diagnosis** diagnosis,
                                   rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_diagnosis_destroy(rdmagpu_diagnosis* diagnosis);
RDMAGPU_C_API int rdmagpu_diagnosis_facts_of(const rdmagpu_diagnosis* diagnosis,
                                             rdmagpu_diagnosis_facts* facts, rdmagpu_error* error);
/* False: out of range. */
RDMAGPU_C_API bool rdmagpu_diagnosis_finding(const rdmagpu_diagnosis* diagnosis, size_t index,
                                             rdmagpu_finding* finding);
RDMAGPU_C_API bool rdmagpu_diagnosis_pair(const rdmagpu_diagnosis* diagnosis, size_t index,
                                          rdmagpu_pair_verdict* pair);
RDMAGPU_C_API bool rdmagpu_diagnosis_device(const rdmagpu_diagnosis* diagnosis, size_t index,
                                            rdmagpu_machine_device* device);
/* A step of the way from the host bridge, "pci0000:16", to the device itself. Null: out of range. */
RDMAGPU_C_API const char* rdmagpu_diagnosis_path(const rdmagpu_diagnosis* diagnosis, size_t device,
                                                 size_t step);
/* What only the superuser can read, and was not read. Null: out of range. */
RDMAGPU_C_API const char* rdmagpu_diagnosis_root_would_add(const rdmagpu_diagnosis* diagnosis, size_t index);

/* A kind of finding, as docs/doctor.md lists them. */
typedef struct rdmagpu_finding_kind {
  uint32_t struct_size;
  int32_t severity; /* rdmagpu_severity */
  const char* id;
  const char* title;
  const char* fix;
  const char* risk;
} rdmagpu_finding_kind;
RDMAGPU_C_API size_t rdmagpu_finding_kind_count(void);
RDMAGPU_C_API bool rdmagpu_finding_kind_get(size_t index, rdmagpu_finding_kind* kind);

/* What an error or a line of the kernel's log may mean, the best match first. */
typedef struct rdmagpu_explanations rdmagpu_explanations;
typedef struct rdmagpu_explanation {
  uint32_t struct_size;
  uint32_t reserved;
  const char* matched; /* What of the text was known, such as "ibv_reg_mr EFAULT". Lives as long as they. */
  const char* finding;
  const char* const* causes; /* What to do about it, the most likely cause first; lives as long, too. */
  uint64_t cause_count;
} rdmagpu_explanation;
/* Explains any text with an error in it: "ibv_reg_mr 14", "CUDA_ERROR_NOT_SUPPORTED", a line of dmesg. */
RDMAGPU_C_API int rdmagpu_explain(const char* text, rdmagpu_explanations** explanations,
                                  rdmagpu_error* error);
RDMAGPU_C_API void rdmagpu_explanations_destroy(rdmagpu_explanations* explanations);
RDMAGPU_C_API size_t rdmagpu_explanations_count(const rdmagpu_explanations* explanations);
RDMAGPU_C_API bool rdmagpu_explanations_get(const rdmagpu_explanations* explanations, size_t index,
                                            rdmagpu_explanation* explanation);

RDMAGPU_C_END
#endif
