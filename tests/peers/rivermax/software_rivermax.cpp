#include "software_rivermax.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace rdmagpu::rivermaxtest {
namespace {

struct Registration {
  std::uint32_t nic{};
  rmx_mem_region region{};
};

struct Nics {
  ~Nics() {
    for(const std::string& rule : violations)
      std::fprintf(stderr, "%s\n", rule.c_str());
    if(!violations.empty())
      std::_Exit(3); // a program that breaks a rule fails
  }
  bool initialised{};
  std::map<std::string, rmx_status> failing;
  std::uint32_t failingNic{};
  std::map<rmx_mkey_id, Registration> registrations;
  rmx_mkey_id next{1000};
  std::optional<rmx_output_media_stream_params> stream;
  std::vector<rmx_output_media_mem_block> blocks;
  std::vector<std::vector<std::byte>> headers; ///< That the SDK allocates by itself.
  std::size_t chunk{};
  int busy{};
  std::vector<std::byte> sent;
  std::vector<std::string> violations;
};

Nics& nics() {
  static Nics all;
  return all;
}

rmx_status told(const char* call) {
  const auto found = nics().failing.find(call);
  return found == nics().failing.end() ? RMX_OK : found->second;
}

rmx_status broken(const std::string& rule) {
  nics().violations.push_back(rule);
  return RMX_INVALID_PARAM_1;
}

const std::byte* bytesOf(const void* at) { return static_cast<const std::byte*>(at); }

/// Bytes of one chunk, and where the next one lies.
std::size_t chunkBytes(std::size_t subBlock) {
  return nics().stream->packets_per_chunk * nics().stream->stride[subBlock];
}
void* chunkAt(std::size_t subBlock) {
  const auto& block = nics().blocks[nics().chunk / nics().blocks[0].chunks % nics().blocks.size()];
  return static_cast<std::byte*>(block.memory[subBlock].addr) +
         nics().chunk % block.chunks * chunkBytes(subBlock);
}

} // namespace

void reset(std::map<std::string, rmx_status> failing, std::uint32_t failingNic) {
  nics() = {};
  nics().initialised = true;
  nics().failing = std::move(failing);
  nics().failingNic = failingNic;
}
rmx_device_iface nic(std::uint32_t address) { return {address}; }
std::size_t registered() { return nics().registrations.size(); }
std::vector<std::string> violations() { return nics().violations; }
std::vector<std::byte> sent() { return nics().sent; }

bool reaches(const rmx_device_iface& iface, std::uint32_t key, const void* at, std::size_t bytes) {
  const auto found = nics().registrations.find(key);
  if(found == nics().registrations.end() || found->second.nic != iface.address)
    return false;
  const rmx_mem_region& region = found->second.region;
  return bytesOf(at) >= bytesOf(region.addr) && bytesOf(at) + bytes <= bytesOf(region.addr) + region.length;
}

} // namespace rdmagpu::rivermaxtest

using namespace rdmagpu::rivermaxtest;

rmx_status rmx_init() {
  nics().initialised = true;
  return told("rmx_init");
}

rmx_status rmx_cleanup() {
  if(!nics().registrations.empty() || nics().stream)
    return broken("rmx_cleanup: memory is registered, or a stream is there");
  nics().initialised = false;
  return RMX_OK;
}

rmx_status rmx_retrieve_device_iface_ipv4(rmx_device_iface* iface, const in_addr* ip) {
  iface->address = ip->s_addr;
  return nics().initialised ? told("rmx_retrieve_device_iface_ipv4") : broken("rmx_init was not called");
}

void rmx_init_mem_registry(rmx_mem_reg_params* params, const rmx_device_iface* iface) {
  params->iface = *iface;
}

rmx_status rmx_register_memory(rmx_mem_region* mem, const rmx_mem_reg_params* params) {
  if(!mem->addr || mem->length == 0)
    return broken("rmx_register_memory: nothing to register");
  if(params->iface.address >= nics().failingNic && told("rmx_register_memory") != RMX_OK)
    return told("rmx_register_memory");
  mem->mkey = nics().next++;
  nics().registrations[mem->mkey] = {params->iface.address, *mem};
  return RMX_OK;
}

rmx_status rmx_deregister_memory(const rmx_mem_region* mem, const rmx_device_iface* iface) {
  if(!reaches(*iface, mem->mkey, mem->addr, mem->length))
    return broken("rmx_deregister_memory: was not registered like that");
  if(nics().stream)
    return broken("rmx_deregister_memory: a stream uses it");
  if(const rmx_status status = told("rmx_deregister_memory"); status != RMX_OK)
    return status;
  nics().registrations.erase(mem->mkey);
  return RMX_OK;
}

void rmx_output_media_init_mem_blocks(rmx_output_media_mem_block* blocks, std::size_t count) {
  for(std::size_t i = 0; i < count; ++i)
    blocks[i] = {};
}
void rmx_output_media_set_sub_block_count(rmx_output_media_mem_block* block, std::size_t count) {
  block->sub_blocks = count;
}
void rmx_output_media_set_chunk_count(rmx_output_media_mem_block* block, std::size_t count) {
  block->chunks = count;
}
void rmx_output_media_set_packet_layout(rmx_output_media_mem_block*, std::size_t, std::uint16_t*) {}
rmx_mem_multi_key_region* rmx_output_media_get_dup_sub_block(rmx_output_media_mem_block* block,
                                                             std::size_t sub) {
  return sub < block->sub_blocks ? &block->memory[sub] : nullptr;
}
void rmx_output_media_init(rmx_output_media_stream_params* params) { *params = {}; }
void rmx_output_media_assign_mem_blocks(rmx_output_media_stream_params* params,
                                        rmx_output_media_mem_block* blocks, std::size_t count) {
  params->blocks = blocks;
  params->block_count = count;
}
void rmx_output_media_set_sdp(rmx_output_media_stream_params*, const char*) {}
void rmx_output_media_set_packets_per_chunk(rmx_output_media_stream_params* params, std::size_t count) {
  params->packets_per_chunk = count;
}
void rmx_output_media_set_stride_size(rmx_output_media_stream_params* params, std::size_t sub,
                                      std::size_t size) {
  params->stride[sub] = size;
}
void rmx_output_media_set_packets_per_frame(rmx_output_media_stream_params* params, std::size_t count) {
  params->packets_per_frame = count;
}

rmx_status rmx_output_media_create_stream(rmx_output_media_stream_params* params, rmx_stream_id* id) {
  if(const rmx_status status = told("rmx_output_media_create_stream"); status != RMX_OK)
    return status;
  nics().stream = *params;
  nics().blocks.assign(params->blocks, params->blocks + params->block_count);
  for(auto& block : nics().blocks) {
    auto& headers = block.memory[0];
    if(headers.addr)
      broken("rmx_output_media_create_stream: headers are to be the SDK's here");
    nics().headers.emplace_back(block.chunks * chunkBytes(0));
    headers.addr = nics().headers.back().data();
    const auto& payload = block.memory[1];
    if(payload.length < block.chunks * chunkBytes(1))
      broken("rmx_output_media_create_stream: a block is too small for its chunks");
    for(const rmx_mkey_id key : payload.mkey) {
      const auto found = nics().registrations.find(key);
      if(found == nics().registrations.end() ||
         !reaches({found->second.nic}, key, payload.addr, payload.length))
        broken("rmx_output_media_create_stream: a block is not registered");
    }
    if(payload.mkey[0] == payload.mkey[1])
      broken("rmx_output_media_create_stream: both NICs have the same key");
  }
  nics().busy = 1;
  *id = 1;
  return RMX_OK;
}

rmx_status rmx_output_media_destroy_stream(rmx_stream_id) {
  if(nics().busy-- > 0)
    return RMX_BUSY;
  nics().stream.reset();
  return RMX_OK;
}

void rmx_output_media_init_chunk_handle(rmx_output_media_chunk_handle* handle, rmx_stream_id id) {
  handle->id = id;
}
rmx_status rmx_output_media_get_next_chunk(rmx_output_media_chunk_handle*) { return RMX_OK; }
void* rmx_output_media_get_chunk_strides(rmx_output_media_chunk_handle*, std::size_t sub) {
  return chunkAt(sub);
}
rmx_status rmx_output_media_commit_chunk(rmx_output_media_chunk_handle*, std::uint64_t) {
  const std::byte* payload = bytesOf(chunkAt(1));
  nics().sent.insert(nics().sent.end(), payload, payload + chunkBytes(1));
  ++nics().chunk;
  return RMX_OK;
}
