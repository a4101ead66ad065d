// Receives ST 2110-20 with Intel's Media Transport Library, whose cores write each frame straight into a host
// slot. Where there is a GPU the program's slots lie there, and each frame is copied while the next one
// arrives. Built by whoever has the library, e.g. g++ -std=c++20 mtl_capture.cpp $(pkg-config --cflags --libs
// rdmagpu mtl)
#include <rdmagpu/peers/mtl.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rdmagpu::RingStatus;

int fail(const char* what) { return std::fprintf(stderr, "%s\n", what), 1; }

/// One thread for both sides; two would be usual.
int receive(st20p_rx_handle session, rdmagpu::StagedBuffer& staged,
            const rdmagpu::peers::PeerRegistration& mapped) {
  std::vector<st_frame*> frames(mapped.slotCount()); // by slot
  for(int n = 0; n < 25; ++n) {
    st_frame* received = st20p_rx_get_frame(session);
    if(!received)
      return fail("no frame");
    const auto slot = mapped.slot(rdmagpu::HostPointer{received->addr[0]}).slot;
    frames[slot] = received;
    staged.ring().publish(slot, static_cast<std::int64_t>(received->timestamp), received->data_size);

    rdmagpu::RingFrame frame;
    if(staged.ring().take(frame, 1s) != RingStatus::Ok ||
       staged.ring().waitBytes(frame.slot, frame.bytes, 1s) != RingStatus::Ok)
      return fail(staged.error().message().c_str());
    const auto sum = staged.applicationBuffer().checksum(frame.slot, frame.bytes);
    std::printf("frame %d: %016llx\n", n, sum ? static_cast<unsigned long long>(*sum) : 0);
    staged.ring().release(frame.slot);

    std::uint32_t free{};
    while(staged.ring().tryAcquire(free) == RingStatus::Ok) // back to the session
      st20p_rx_put_frame(session, frames[free]);
  }
  return 0;
}

int capture(mtl_handle mtl, st20p_rx_ops ops) {
  const std::size_t frameBytes = st_frame_size(ops.output_fmt, ops.width, ops.height, false);
  auto registrar = rdmagpu::peers::mtlRegistrar(mtl);
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 4, .frameBytes = frameBytes};
  config.buffer.accepts = registrar.limits.accepts;
  auto staged = rdmagpu::StagedBuffer::make(config);
  if(!staged)
    return fail(staged.error().message().c_str());
  const auto mapped = rdmagpu::peers::PeerRegistration::make(*staged, registrar);
  if(!mapped)
    return fail(mapped.error().message().c_str());
  std::printf("frames in %s, %s\n", staged->facts().application.device.c_str(), name(staged->path()));

  std::vector<st_ext_frame> frames;
  for(std::uint32_t i = 0, slot{}; staged->ring().tryAcquire(slot) == RingStatus::Ok;
      ++i) // the session has all
    frames.push_back(rdmagpu::peers::mtlExtFrame(mapped->slot(i), frameBytes));
  ops.ext_frames = frames.data();
  ops.framebuff_cnt = static_cast<std::uint16_t>(frames.size());
  st20p_rx_handle session = st20p_rx_create(mtl, &ops);
  if(!session)
    return fail("no session");
  const int result = receive(session, *staged, *mapped);
  st20p_rx_free(session); // before the mapping goes
  return result;
}

} // namespace

int main() {
  constexpr const char* port = "0000:af:01.0";
  mtl_init_params params{};
  params.num_ports = 1;
  params.flags = MTL_FLAG_DEV_AUTO_START_STOP;
  std::snprintf(params.port[MTL_PORT_P], MTL_PORT_MAX_LEN, "%s", port);
  st20p_rx_ops ops{};
  ops.port.num_port = 1; // its addresses are set here
  std::snprintf(ops.port.port[MTL_SESSION_PORT_P], MTL_PORT_MAX_LEN, "%s", port);
  ops.width = 1920;
  ops.height = 1080;
  ops.fps = ST_FPS_P25;
  ops.transport_fmt = ST20_FMT_YUV_422_10BIT;
  ops.output_fmt = ST_FRAME_FMT_YUV422RFC4175PG2BE10; // as on the wire: no conversion
  ops.device = ST_PLUGIN_DEVICE_AUTO;
  ops.flags = ST20P_RX_FLAG_BLOCK_GET;
  mtl_handle mtl = mtl_init(&params);
  const int result = mtl ? capture(mtl, ops) : fail("no port");
  if(mtl)
    mtl_uninit(mtl);
  return result;
}
