#include "stream/stream_slots.hpp"

#include <algorithm>
#include <utility>

namespace rdmagpu::cli {

Result<StreamSlots> StreamSlots::shared(const RdmaGpuBufferConfig& config, RingPolicy policy) {
  RdmaGpuBufferConfig wanted = config;
  // What a peer on the CPU can reach.
  wanted.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  auto buffer = RdmaGpuBuffer::make(wanted);
  if(!buffer)
    return buffer.error();
  auto ring = SlotRing::make({config.slotCount, policy});
  if(!ring)
    return ring.error();
  StreamSlots slots;
  slots.m_buffer = *std::move(buffer);
  slots.m_ring.emplace(*std::move(ring));
  return slots;
}

Result<StreamSlots> StreamSlots::staged(const RdmaGpuBufferConfig& config, RingPolicy policy, SlotFlow flow) {
  StagedBufferConfig wanted{.buffer = config, .flow = flow, .policy = policy, .path = SlotPath::Staged};
  wanted.buffer.accepts = {HandoffKind::HostPointer};
  auto staged = StagedBuffer::make(wanted);
  if(!staged)
    return staged.error();
  StreamSlots slots;
  slots.m_staged.emplace(*std::move(staged));
  return slots;
}

std::vector<PeerSlot> StreamSlots::peerSlots() const {
  const RdmaGpuBuffer& buffer = m_staged ? m_staged->peerBuffer() : *m_buffer;
  std::vector<PeerSlot> slots;
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.push_back({buffer.handoff(i), buffer.slot(i).size});
  return slots;
}

std::size_t StreamSlots::peerSliceBytes() const noexcept {
  // As cards do, which tell of a frame while it arrives.
  constexpr std::size_t slicesOfAFrame = 32;
  return m_staged ? std::max<std::size_t>(application().facts().frameBytes / slicesOfAFrame, 1) : 0;
}

} // namespace rdmagpu::cli
