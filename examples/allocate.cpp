// Allocates eight 1080p slots, and prints what a capture card's SDK would be given for each.
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cinttypes>
#include <cstdio>

int main() {
  const auto buffer = rdmagpu::RdmaGpuBuffer::make({
      .api = rdmagpu::RdmaGpuApi::Auto, // the best that this machine has
      .slotCount = 8,
      .frameBytes = 1920 * 1080 * 2,
  });
  if(!buffer) {
    std::fprintf(stderr, "%s\n", buffer.error().message().c_str());
    for(const char* hint : buffer.error().hints())
      std::fprintf(stderr, "  %s\n", hint);
    return 1;
  }

  const rdmagpu::BufferFacts& facts = buffer->facts();
  std::printf("%s: %zu bytes committed for %zu asked, %zu locked\n", rdmagpu::name(facts.api),
              facts.committedBytes, facts.requestedBytes, facts.lockedBytes);
  for(std::size_t i = 0; i < buffer->slotCount(); ++i) {
    const rdmagpu::Handoff handoff = buffer->handoff(i);
    std::printf("slot %zu: %s 0x%" PRIx64 ", %zu bytes\n", i, rdmagpu::name(rdmagpu::kind(handoff)),
                rdmagpu::addressBits(handoff), buffer->slot(i).size);
  }
}
