// Plays out on a Deltacast card from slots of the best memory there is: a GPU's, straight by RDMA where the
// card's driver takes that, else through host memory; the loop is the same. Built by whoever has the SDK,
// e.g. g++ -std=c++20 deltacast_playout.cpp $(pkg-config --cflags --libs rdmagpu), and the SDK's library
#include <rdmagpu/peers/deltacast.hpp>

#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  for(const char* hint : error.hints())
    std::fprintf(stderr, "  %s\n", hint);
  return 1;
}

/// The first output, as 1080p25 of 8 bits; null if there is none.
HANDLE openOutput(HANDLE board) {
  HANDLE stream{};
  if(VHD_OpenStreamHandle(board, VHD_ST_TX0, VHD_SDI_STPROC_DISJOINED_VIDEO, nullptr, &stream, nullptr) !=
     VHDERR_NOERROR)
    return {};
  VHD_SetStreamProperty(stream, VHD_SDI_SP_VIDEO_STANDARD, VHD_VIDEOSTD_S274M_1080p_25Hz);
  VHD_SetStreamProperty(stream, VHD_CORE_SP_BUFFER_PACKING, VHD_BUFPACK_VIDEO_YUV422_8);
  return stream;
}

int playOut(HANDLE stream) {
  auto card = rdmagpu::peers::DeltacastPeer::make(stream);
  if(!card) {
    VHD_CloseStreamHandle(stream);
    return fail(card.error());
  }
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 6};
  config.flow = rdmagpu::SlotFlow::Playout;
  if(const auto started = card->start(config); !started) // asks the card how large a frame is
    return fail(started.error());
  rdmagpu::StagedBuffer& staged = *card->buffer();
  std::printf("frames in %s, %s\n", staged.facts().application.device.c_str(), rdmagpu::name(staged.path()));

  std::vector<std::byte> picture(card->frameBytes());
  std::uint32_t slot{};
  for(std::size_t frame = 0; frame < 50 && staged.ring().acquire(slot, 5s) == rdmagpu::RingStatus::Ok;
      ++frame) {
    for(std::size_t i = 0; i < picture.size(); ++i) // a moving wedge of grey
      picture[i] = i % 2 == 0 ? std::byte{128} : static_cast<std::byte>(16 + (i / 32 + frame) % 220);
    // Work on the GPU would make the frame in the slot itself; its completion goes to publish().
    if(const auto copied = staged.applicationBuffer().upload(slot, picture); !copied)
      return fail(copied.error());
    staged.ring().publish(slot, 0, picture.size());
  }
  staged.ring().closeProducer();
  card->wait(); // until the last one is sent
  const auto counters = card->counters();
  std::printf("%llu frames sent, %llu times none was there\n",
              static_cast<unsigned long long>(counters.frames),
              static_cast<unsigned long long>(counters.lost));
  return counters.error.kind == rdmagpu::Errc::None ? 0 : fail(counters.error);
}

} // namespace

int main() {
  HANDLE board{};
  if(VHD_OpenBoardHandle(0, &board, nullptr, 0) != VHDERR_NOERROR)
    return std::fprintf(stderr, "no Deltacast board\n"), 1;
  HANDLE stream = openOutput(board);
  const int result = stream ? playOut(stream) : 1;
  VHD_CloseBoardHandle(board);
  return result;
}
