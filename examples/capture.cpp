// A capture loop as an application writes it: the card fills slots, this thread takes each frame and gives
// its slot back. Unchanged it runs where there is a GPU, which then has the frames, and where there is none.
// The card is a software peer here, which reaches host memory only; a real one is told the same handoffs.
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Sixty frames, each of one colour.
class TestCard final : public rdmagpu::FrameSource {
public:
  explicit TestCard(std::size_t bytes) : m_frame(bytes) {}
  std::span<const std::byte> next() override {
    if(m_number == 60)
      return {};
    std::fill(m_frame.begin(), m_frame.end(), static_cast<std::byte>(m_number++));
    return m_frame;
  }

private:
  std::vector<std::byte> m_frame;
  int m_number{};
};

int fail(const rdmagpu::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

} // namespace

int main() {
  constexpr std::size_t frameBytes = 1920 * 1080 * 2;
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 4, .frameBytes = frameBytes};
  config.buffer.accepts = {rdmagpu::HandoffKind::HostPointer}; // what the card can reach
  auto staged = rdmagpu::StagedBuffer::make(config);
  if(!staged)
    return fail(staged.error());
  std::printf("frames in %s, %s\n", staged->facts().application.device.c_str(),
              rdmagpu::name(staged->facts().path));

  std::vector<rdmagpu::PeerSlot> slots;
  for(std::size_t i = 0; i < staged->peerBuffer().slotCount(); ++i)
    slots.push_back({staged->handoff(i), staged->peerBuffer().slot(i).size});
  auto card = rdmagpu::SoftwarePeer::make({.slots = slots, .rate = {60000, 1001}, .sliceBytes = 128 * 1024});
  if(!card)
    return fail(card.error());
  TestCard picture{frameBytes};
  rdmagpu::SlotRing& ring = staged->ring();
  if(const auto started = card->startCapture(ring, picture); !started)
    return fail(started.error());

  std::vector<std::byte> image(frameBytes);
  std::uint64_t wrong = 0;
  rdmagpu::RingFrame frame;
  while(ring.take(frame, 5s) == rdmagpu::RingStatus::Ok) {
    if(ring.waitBytes(frame.slot, frame.bytes, 5s) != rdmagpu::RingStatus::Ok)
      return fail(staged->error());
    // Work on the GPU would begin here, on the slot itself; this looks at every byte instead.
    if(const auto copied = staged->applicationBuffer().download(frame.slot, image); !copied)
      return fail(copied.error());
    ring.release(frame.slot); // the card may fill it again from here on
    const auto colour = static_cast<std::byte>(frame.sequence);
    wrong += static_cast<std::uint64_t>(frameBytes) -
             static_cast<std::uint64_t>(std::count(image.begin(), image.end(), colour));
  }
  const auto counters = ring.counters();
  std::printf("%llu frames taken, %llu dropped, %llu bytes wrong\n",
              static_cast<unsigned long long>(counters.taken),
              static_cast<unsigned long long>(counters.drops), static_cast<unsigned long long>(wrong));
  return wrong == 0 && counters.taken + counters.drops == 60 ? 0 : 1;
}
