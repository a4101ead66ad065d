// A fixed number of slots' round trips on one thread, for counting instructions: README.md says how.
#include <rdmagpu/slot_ring.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  using namespace rdmagpu;
  const long trips = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 100'000;
  const bool newest = argc > 2 && std::string_view{argv[2]} == "newest";
  Result<SlotRing> ring = SlotRing::make({4, newest ? RingPolicy::Newest : RingPolicy::Fifo});
  if(!ring)
    return EXIT_FAILURE;
  for(long i = 0; i < trips; ++i) {
    std::uint32_t slot{};
    RingFrame frame;
    if(ring->tryAcquire(slot) != RingStatus::Ok || ring->publish(slot, i, 4096) != RingStatus::Ok ||
       ring->tryTake(frame) != RingStatus::Ok || ring->release(frame.slot) != RingStatus::Ok)
      return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
