#pragma once

/* See mtl_api.h. */

#include "mtl_api.h"

typedef struct st20p_rx_ctx* st20p_rx_handle;
enum { ST_MAX_PLANES = 4 };
enum st_fps { ST_FPS_P25 = 4 };
enum st20_fmt { ST20_FMT_YUV_422_10BIT = 3 };
enum st_frame_fmt { ST_FRAME_FMT_YUV422RFC4175PG2BE10 = 2 };
enum st_plugin_device { ST_PLUGIN_DEVICE_AUTO = 5 };
enum { ST20P_RX_FLAG_BLOCK_GET = 128 };

struct st_ext_frame {
  void* addr[ST_MAX_PLANES];
  mtl_iova_t iova[ST_MAX_PLANES];
  size_t linesize[ST_MAX_PLANES];
  size_t size;
  void* opaque;
};

struct st_frame {
  void* addr[ST_MAX_PLANES];
  mtl_iova_t iova[ST_MAX_PLANES];
  size_t data_size;
  uint64_t timestamp;
  void* opaque;
};

struct st_rx_port {
  uint8_t ip_addr[MTL_SESSION_PORT_MAX][MTL_IP_ADDR_LEN];
  uint8_t num_port;
  char port[MTL_SESSION_PORT_MAX][MTL_PORT_MAX_LEN];
  uint16_t udp_port[MTL_SESSION_PORT_MAX];
  uint8_t payload_type;
};

struct st20p_rx_ops {
  struct st_rx_port port;
  uint32_t width;
  uint32_t height;
  enum st_fps fps;
  enum st20_fmt transport_fmt;
  enum st_frame_fmt output_fmt;
  enum st_plugin_device device;
  uint16_t framebuff_cnt;
  const char* name;
  uint32_t flags;
  struct st_ext_frame* ext_frames;
};

#ifdef __cplusplus
extern "C" {
#endif

size_t st_frame_size(enum st_frame_fmt fmt, uint32_t width, uint32_t height, bool interlaced);
st20p_rx_handle st20p_rx_create(mtl_handle mt, struct st20p_rx_ops* ops);
int st20p_rx_free(st20p_rx_handle handle);
struct st_frame* st20p_rx_get_frame(st20p_rx_handle handle);
int st20p_rx_put_frame(st20p_rx_handle handle, struct st_frame* frame);

#ifdef __cplusplus
}
#endif
