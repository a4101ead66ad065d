// Sends frames with Rivermax over two NICs (ST 2022-7) straight from slots on a GPU, or in host memory: one
// region, one mkey for each NIC. Built by whoever has the SDK, e.g. g++ -std=c++20 rivermax_playout.cpp
// $(pkg-config --cflags --libs rdmagpu) -lrivermax
#include <rdmagpu/peers/rivermax.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using rdmagpu::peers::PeerRegistration;
constexpr std::uint16_t payloadBytes = 1200; // of a packet, and its stride
constexpr std::size_t packetsPerChunk = 4;
constexpr std::size_t packetsPerFrame = 4320; // 1920x1080, 4:2:2 of 10 bits
constexpr std::size_t chunksPerFrame = packetsPerFrame / packetsPerChunk;

int fail(const std::string& what) { return std::fprintf(stderr, "%s\n", what.c_str()), 1; }

/// A block of the stream for each slot: headers in memory of the SDK's own, payload in the slot.
rmx_status createStream(const std::vector<PeerRegistration>& nics, rmx_stream_id& stream) {
  static std::vector<rmx_output_media_mem_block> blocks(nics[0].slotCount());
  static std::uint16_t sizes[2][packetsPerFrame]; // of the headers, of the payload
  std::fill_n(sizes[0], packetsPerFrame, std::uint16_t{20});
  std::fill_n(sizes[1], packetsPerFrame, payloadBytes);
  rmx_output_media_init_mem_blocks(blocks.data(), blocks.size());
  for(std::size_t i = 0; i < blocks.size(); ++i) {
    rmx_output_media_set_sub_block_count(&blocks[i], 2);
    rmx_output_media_set_chunk_count(&blocks[i], chunksPerFrame);
    rmx_output_media_set_packet_layout(&blocks[i], 0, sizes[0]);
    rmx_output_media_set_packet_layout(&blocks[i], 1, sizes[1]);
    *rmx_output_media_get_dup_sub_block(&blocks[i], 0) = {nullptr, 0, {RMX_MKEY_INVALID, RMX_MKEY_INVALID}};
    rmx_mem_multi_key_region& payload = *rmx_output_media_get_dup_sub_block(&blocks[i], 1);
    payload.addr = rdmagpu::peers::rivermaxAddress(nics[0].slot(i).handoff);
    payload.length = packetsPerFrame * payloadBytes;
    for(std::size_t nic = 0; nic < nics.size(); ++nic)
      payload.mkey[nic] = static_cast<rmx_mkey_id>(nics[nic].slot(i).key);
  }
  rmx_output_media_stream_params params;
  rmx_output_media_init(&params);
  rmx_output_media_assign_mem_blocks(&params, blocks.data(), blocks.size());
  rmx_output_media_set_sdp(&params, "v=0\r\n"); // two sources, two destinations
  rmx_output_media_set_packets_per_chunk(&params, packetsPerChunk);
  rmx_output_media_set_packets_per_frame(&params, packetsPerFrame);
  rmx_output_media_set_stride_size(&params, 0, 64);
  rmx_output_media_set_stride_size(&params, 1, payloadBytes);
  return rmx_output_media_create_stream(&params, &stream);
}

void send(const rdmagpu::RdmaGpuBuffer& buffer, rmx_stream_id stream) {
  rmx_output_media_chunk_handle chunk;
  rmx_output_media_init_chunk_handle(&chunk, stream);
  for(std::size_t n = 0; n < 8 * chunksPerFrame; ++n) {
    while(rmx_output_media_get_next_chunk(&chunk) == RMX_NO_FREE_CHUNK) {
    }
    const std::size_t frame = n / chunksPerFrame;
    if(n % chunksPerFrame == 0) // the slot is free: a picture is made there, on the GPU
      (void)buffer.poison(frame % buffer.slotCount(), frame);
    // The RTP headers go to rmx_output_media_get_chunk_strides(&chunk, 0), on the CPU.
    while(rmx_output_media_commit_chunk(&chunk, 0) == RMX_HW_SEND_QUEUE_IS_FULL) {
    }
  }
}

int playOut(const char* const (&addresses)[2]) {
  const auto buffer = rdmagpu::RdmaGpuBuffer::make(
      {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 4, .frameBytes = packetsPerFrame * payloadBytes});
  if(!buffer)
    return fail(buffer.error().message());
  std::vector<PeerRegistration> nics;
  for(const char* address : addresses) {
    in_addr ip{};
    rmx_device_iface iface;
    if(inet_pton(AF_INET, address, &ip) != 1 || rmx_retrieve_device_iface_ipv4(&iface, &ip) != RMX_OK)
      return fail(std::string{"no Rivermax NIC at "} + address);
    auto nic = PeerRegistration::make(*buffer, rdmagpu::peers::rivermaxRegistrar(iface));
    if(!nic)
      return fail(nic.error().message());
    nics.push_back(*std::move(nic));
  }
  rmx_stream_id stream{};
  if(createStream(nics, stream) != RMX_OK)
    return fail("no stream");
  send(*buffer, stream);
  while(rmx_output_media_destroy_stream(stream) == RMX_BUSY) {
  } // before the keys go
  return std::printf("8 frames sent from %s\n", buffer->facts().device.c_str()), 0;
}

} // namespace

int main() {
  const int result = rmx_init() == RMX_OK ? playOut({"192.168.1.1", "192.168.2.1"}) : fail("no Rivermax");
  rmx_cleanup();
  return result;
}
