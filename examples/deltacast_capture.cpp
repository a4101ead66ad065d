// Captures from a Deltacast card into slots of the best memory there is: a GPU's, straight by RDMA where the
// card's driver takes that, else through host memory; the loop is the same. Built by whoever has the SDK,
// e.g. g++ -std=c++20 deltacast_capture.cpp $(pkg-config --cflags --libs rdmagpu), and the SDK's library
#include <rdmagpu/peers/deltacast.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

namespace {

using namespace std::chrono_literals;

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  for(const char* hint : error.hints())
    std::fprintf(stderr, "  %s\n", hint);
  return 1;
}

/// The first input, as 1080p25 of 8 bits; null if there is none.
HANDLE openInput(HANDLE board) {
  HANDLE stream{};
  if(VHD_OpenStreamHandle(board, VHD_ST_RX0, VHD_SDI_STPROC_DISJOINED_VIDEO, nullptr, &stream, nullptr) !=
     VHDERR_NOERROR)
    return {};
  VHD_SetStreamProperty(stream, VHD_SDI_SP_VIDEO_STANDARD, VHD_VIDEOSTD_S274M_1080p_25Hz);
  VHD_SetStreamProperty(stream, VHD_CORE_SP_BUFFER_PACKING, VHD_BUFPACK_VIDEO_YUV422_8);
  return stream;
}

int capture(HANDLE stream) {
  auto card = rdmagpu::peers::DeltacastPeer::make(stream);
  if(!card) {
    VHD_CloseStreamHandle(stream);
    return fail(card.error());
  }
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 6};
  if(const auto started = card->start(config); !started) // asks the card how large a frame is
    return fail(started.error());
  rdmagpu::StagedBuffer& staged = *card->buffer();
  std::printf("frames in %s, %s\n", staged.facts().application.device.c_str(), rdmagpu::name(staged.path()));

  rdmagpu::RingFrame frame;
  for(int n = 0; n < 50 && staged.ring().take(frame, 5s) == rdmagpu::RingStatus::Ok; ++n) {
    if(staged.ring().waitBytes(frame.slot, frame.bytes, 5s) != rdmagpu::RingStatus::Ok)
      return fail(staged.error());
    // Work on the GPU would begin here, on the slot itself. This looks at the frame where it lies.
    const auto sum = staged.applicationBuffer().checksum(frame.slot, frame.bytes);
    std::printf("frame %llu: %016llx\n", static_cast<unsigned long long>(frame.sequence),
                sum ? static_cast<unsigned long long>(*sum) : 0);
    staged.ring().release(frame.slot); // the card may fill it again from here on
  }
  card->stop();
  const auto counters = card->counters();
  std::printf("%llu frames, %llu lost\n", static_cast<unsigned long long>(counters.frames),
              static_cast<unsigned long long>(counters.lost));
  return counters.error.kind == rdmagpu::Errc::None ? 0 : fail(counters.error);
}

} // namespace

int main() {
  HANDLE board{};
  if(VHD_OpenBoardHandle(0, &board, nullptr, 0) != VHDERR_NOERROR)
    return std::fprintf(stderr, "no Deltacast board\n"), 1;
  HANDLE stream = openInput(board);
  const int result = stream ? capture(stream) : 1;
  VHD_CloseBoardHandle(board);
  return result;
}
