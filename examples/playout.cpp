// A playout loop as an application writes it: this thread fills slots, the card sends each frame and gives
// its slot back. Unchanged it runs where there is a GPU, in whose memory the frames are then made, and where
// there is none. The card is a software peer here, which reaches host memory only.
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;
constexpr int frames = 60;
constexpr std::size_t frameBytes = 1920 * 1080 * 2;

/// What the card sends: counts the bytes that are not of their frame's colour.
class Monitor final : public rdmagpu::FrameSink {
public:
  bool frame(std::uint64_t sequence, std::uint32_t, std::span<const std::byte> bytes) override {
    const auto colour = static_cast<std::byte>(sequence);
    wrong += bytes.size() - static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), colour));
    ++shown;
    return true;
  }
  std::size_t wrong{};
  int shown{};
};

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

} // namespace

int main() {
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 4, .frameBytes = frameBytes};
  config.buffer.accepts = {rdmagpu::HandoffKind::HostPointer}; // what the card can reach
  config.flow = rdmagpu::SlotFlow::Playout;
  auto staged = rdmagpu::StagedBuffer::make(config);
  if(!staged)
    return fail(staged.error());
  std::printf("frames in %s, %s\n", staged->facts().application.device.c_str(),
              rdmagpu::name(staged->facts().path));

  std::vector<rdmagpu::PeerSlot> slots;
  for(std::size_t i = 0; i < staged->peerBuffer().slotCount(); ++i)
    slots.push_back({staged->handoff(i), staged->peerBuffer().slot(i).size});
  auto card = rdmagpu::SoftwarePeer::make({.slots = slots, .rate = {60000, 1001}});
  auto queue = rdmagpu::CopyQueue::make(staged->applicationBuffer());
  if(!card || !queue)
    return fail(card ? queue.error() : card.error());
  Monitor monitor;
  rdmagpu::SlotRing& ring = staged->ring();
  if(const auto started = card->startPlayout(ring, monitor); !started)
    return fail(started.error());

  std::vector<std::byte> image(frameBytes);
  std::uint32_t slot{};
  for(int n = 0; n < frames && ring.acquire(slot, 5s) == rdmagpu::RingStatus::Ok; ++n) {
    std::fill(image.begin(), image.end(), static_cast<std::byte>(n));
    // Work on the GPU would make the frame in the slot itself; its completion goes to publish().
    const auto copy = queue->upload(slot, image);
    if(!copy || !copy->wait())
      return fail(copy ? copy->wait().error() : copy.error());
    ring.publish(slot, 0, frameBytes);
  }
  ring.closeProducer();
  card->wait();
  std::printf("%d frames sent, %zu bytes wrong\n", monitor.shown, monitor.wrong);
  return monitor.wrong == 0 && monitor.shown == frames ? 0 : 1;
}
