#pragma once

/* A stand-in for a header of Intel's Media Transport Library: its published names, as far as the tests and
   examples use them. Values and layouts are our own but for MTL_BAD_IOVA. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mtl_main_impl* mtl_handle;
typedef uint64_t mtl_iova_t;
#define MTL_BAD_IOVA static_cast<mtl_iova_t>(-1)

enum { MTL_PORT_P, MTL_PORT_R, MTL_PORT_MAX };
enum { MTL_SESSION_PORT_P, MTL_SESSION_PORT_R, MTL_SESSION_PORT_MAX };
enum { MTL_PORT_MAX_LEN = 64, MTL_IP_ADDR_LEN = 4 };
enum { MTL_FLAG_DEV_AUTO_START_STOP = 8 };

struct mtl_init_params {
  char port[MTL_PORT_MAX][MTL_PORT_MAX_LEN];
  uint8_t num_ports;
  uint8_t sip_addr[MTL_PORT_MAX][MTL_IP_ADDR_LEN];
  uint64_t flags;
};

#ifdef __cplusplus
extern "C" {
#endif

mtl_handle mtl_init(struct mtl_init_params* p);
int mtl_uninit(mtl_handle mt);
size_t mtl_page_size(mtl_handle mt);
mtl_iova_t mtl_dma_map(mtl_handle mt, const void* vaddr, size_t size);
int mtl_dma_unmap(mtl_handle mt, const void* vaddr, mtl_iova_t iova, size_t size);

#ifdef __cplusplus
}
#endif
