#pragma once

/* A stand-in for the header of NVIDIA's Rivermax SDK: its published names, as far as the tests and examples
   use them. Values and layouts are our own but for RMX_OK. */

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  RMX_OK = 0,
  RMX_BUSY = 71,
  RMX_NO_FREE_CHUNK,
  RMX_NO_DEVICE,
  RMX_INVALID_PARAM_1,
  RMX_NO_MEMORY,
  RMX_HW_SEND_QUEUE_IS_FULL
} rmx_status;

enum { RMX_MAX_DUP_STREAMS = 2, RMX_MAX_SUB_BLOCKS_PER_MEM_BLOCK = 2 };
typedef uint32_t rmx_mkey_id;
typedef uint32_t rmx_stream_id;
#define RMX_MKEY_INVALID static_cast<rmx_mkey_id>(-1L)

typedef struct {
  uint32_t address;
} rmx_device_iface;
typedef struct {
  void* addr;
  size_t length;
  rmx_mkey_id mkey;
} rmx_mem_region;
typedef struct {
  void* addr;
  size_t length;
  rmx_mkey_id mkey[RMX_MAX_DUP_STREAMS];
} rmx_mem_multi_key_region;
typedef struct {
  rmx_device_iface iface;
} rmx_mem_reg_params;
typedef struct {
  size_t sub_blocks;
  size_t chunks;
  rmx_mem_multi_key_region memory[RMX_MAX_SUB_BLOCKS_PER_MEM_BLOCK];
} rmx_output_media_mem_block;
typedef struct {
  rmx_output_media_mem_block* blocks;
  size_t block_count;
  size_t packets_per_chunk;
  size_t stride[RMX_MAX_SUB_BLOCKS_PER_MEM_BLOCK];
  size_t packets_per_frame;
} rmx_output_media_stream_params;
typedef struct {
  rmx_stream_id id;
} rmx_output_media_chunk_handle;

rmx_status rmx_init();
rmx_status rmx_cleanup();
rmx_status rmx_retrieve_device_iface_ipv4(rmx_device_iface* iface, const struct in_addr* ip);
void rmx_init_mem_registry(rmx_mem_reg_params* params, const rmx_device_iface* iface);
rmx_status rmx_register_memory(rmx_mem_region* mem, const rmx_mem_reg_params* params);
rmx_status rmx_deregister_memory(const rmx_mem_region* mem, const rmx_device_iface* iface);

void rmx_output_media_init_mem_blocks(rmx_output_media_mem_block* blocks, size_t count);
void rmx_output_media_set_sub_block_count(rmx_output_media_mem_block* block, size_t count);
void rmx_output_media_set_chunk_count(rmx_output_media_mem_block* block, size_t count);
void rmx_output_media_set_packet_layout(rmx_output_media_mem_block* block, size_t sub_block_id,
                                        uint16_t* sizes);
rmx_mem_multi_key_region* rmx_output_media_get_dup_sub_block(rmx_output_media_mem_block* block,
                                                             size_t sub_block_id);
void rmx_output_media_init(rmx_output_media_stream_params* params);
void rmx_output_media_assign_mem_blocks(rmx_output_media_stream_params* params,
                                        rmx_output_media_mem_block* blocks, size_t count);
void rmx_output_media_set_sdp(rmx_output_media_stream_params* params, const char* sdp);
void rmx_output_media_set_packets_per_chunk(rmx_output_media_stream_params* params, size_t count);
void rmx_output_media_set_stride_size(rmx_output_media_stream_params* params, size_t sub_block_id,
                                      size_t size);
void rmx_output_media_set_packets_per_frame(rmx_output_media_stream_params* params, size_t count);
rmx_status rmx_output_media_create_stream(rmx_output_media_stream_params* params, rmx_stream_id* id);
rmx_status rmx_output_media_destroy_stream(rmx_stream_id id);
void rmx_output_media_init_chunk_handle(rmx_output_media_chunk_handle* handle, rmx_stream_id id);
rmx_status rmx_output_media_get_next_chunk(rmx_output_media_chunk_handle* handle);
void* rmx_output_media_get_chunk_strides(rmx_output_media_chunk_handle* handle, size_t sub_block_id);
rmx_status rmx_output_media_commit_chunk(rmx_output_media_chunk_handle* handle, uint64_t time);
