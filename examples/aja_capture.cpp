// Captures from an AJA card into slots of the best memory there is: a GPU's, straight by RDMA where the
// card's driver takes that, else through host memory. Which it is, the card's own DMA engine has to prove
// before the first frame. Built by whoever has the SDK, e.g. g++ -std=c++20 aja_capture.cpp $(pkg-config
// --cflags --libs rdmagpu), and the SDK's folders and library
#include <rdmagpu/peers/aja.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;
using rdmagpu::RingStatus;
constexpr std::size_t frameBytes = 1920 * 1080 * 2;
constexpr ULWord proofFrame = 7; // of the card's memory, not used for video

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  for(const char* hint : error.hints())
    std::fprintf(stderr, "  %s\n", hint);
  return 1;
}

/// The frame that the card has just received; the other one it is writing to.
bool read(CNTV2Card& card, const rdmagpu::StagedBuffer& staged, std::uint32_t slot) {
  ULWord frame{};
  return card.WaitForInputVerticalInterrupt(NTV2_CHANNEL1) && card.GetInputFrame(NTV2_CHANNEL1, frame) &&
         card.DMAReadFrame(frame ^ 1U, rdmagpu::peers::ajaAddress(staged.handoff(slot)), frameBytes) &&
         staged.peerBuffer().flushPeerWrites();
}

int capture(CNTV2Card& card) {
  auto aja = rdmagpu::peers::ajaRegistrar(card, proofFrame);
  aja.verify = rdmagpu::VerifyOptions{.bytes = 65536};
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 4, .frameBytes = frameBytes};
  config.buffer.accepts = aja.limits.accepts;
  config.buffer.cudaMemory = rdmagpu::CudaMemory::MemAlloc;
  auto staged = rdmagpu::StagedBuffer::make(config);
  if(!staged)
    return fail(staged.error());
  auto locked = rdmagpu::peers::PeerRegistration::make(*staged, aja);
  if(!locked && staged->path() == rdmagpu::SlotPath::Direct) {
    fail(locked.error());
    config.path = rdmagpu::SlotPath::Staged;
    staged = rdmagpu::StagedBuffer::make(config);
    if(!staged)
      return fail(staged.error());
    locked = rdmagpu::peers::PeerRegistration::make(*staged, aja);
  }
  if(!locked)
    return fail(locked.error());
  std::printf("frames in %s, %s; written: %s, by: %s\n", staged->facts().application.device.c_str(),
              name(staged->path()), name(locked->proof().written), name(locked->proof().by));

  for(int n = 0; n < 10; ++n) { // the card's side and the application's would be two threads
    std::uint32_t slot{};
    rdmagpu::RingFrame frame;
    if(staged->ring().acquire(slot, 1s) != RingStatus::Ok || !read(card, *staged, slot))
      return std::fprintf(stderr, "the card did not deliver\n"), 1;
    staged->ring().publish(slot, 0, frameBytes);
    if(staged->ring().take(frame, 1s) != RingStatus::Ok ||
       staged->ring().waitBytes(frame.slot, frame.bytes, 1s) != RingStatus::Ok)
      return fail(staged->error());
    const auto sum = staged->applicationBuffer().checksum(frame.slot, frame.bytes);
    std::printf("frame %d: %016llx\n", n, sum ? static_cast<unsigned long long>(*sum) : 0);
    staged->ring().release(frame.slot);
  }
  return 0;
}

} // namespace

int main() {
  CNTV2Card card; // its format and routing are set as in any program
  return card.Open(0) ? capture(card) : (std::fprintf(stderr, "no AJA card\n"), 1);
}
