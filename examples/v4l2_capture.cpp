// Captures from a V4L2 device (a webcam, a grabber) into slots of the best memory there is: a GPU's where the
// device's driver imports them, else host memory, as dma-bufs or as user pointers; the loop is the same.
//   v4l2_capture /dev/video0
#include <rdmagpu/peers/v4l2.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace peers = rdmagpu::peers;

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  for(const char* hint : error.hints())
    std::fprintf(stderr, "  %s\n", hint);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  peers::V4l2Config wanted; // the format that the device is set to
  wanted.timeout = 500ms;
  auto device = peers::V4l2Peer::open(argc > 1 ? argv[1] : "/dev/video0", wanted);
  if(!device)
    return fail(device.error());
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 6};
  if(const auto started = device->start(config); !started) // knows how large a frame is
    return fail(started.error());
  rdmagpu::StagedBuffer& staged = *device->buffer();
  const auto format = device->format();
  std::printf("%ux%u, frames in %s, %s, by %s\n", format.width, format.height,
              staged.facts().application.device.c_str(), rdmagpu::name(staged.path()),
              peers::name(device->memory()));

  rdmagpu::RingFrame frame;
  for(int n = 0; n < 25 && staged.ring().take(frame, 5s) == rdmagpu::RingStatus::Ok; ++n) {
    if(staged.ring().waitBytes(frame.slot, frame.bytes, 5s) != rdmagpu::RingStatus::Ok)
      return fail(staged.error());
    // Work on the GPU would begin here, on the slot itself. This looks at the frame where it lies.
    const auto sum = staged.applicationBuffer().checksum(frame.slot, frame.bytes);
    std::printf("frame %llu: %016llx\n", static_cast<unsigned long long>(frame.sequence),
                sum ? static_cast<unsigned long long>(*sum) : 0);
    staged.ring().release(frame.slot); // the driver may fill it again from here on
  }
  device->stop();
  const auto counters = device->counters();
  std::printf("%llu frames, %llu lost, %llu damaged\n", static_cast<unsigned long long>(counters.frames),
              static_cast<unsigned long long>(counters.lost),
              static_cast<unsigned long long>(counters.faulty));
  return counters.error.kind == rdmagpu::Errc::None ? 0 : fail(counters.error);
}
