#include "stream/stream_slots.hpp"

#include <algorithm>
#include <utility>

namespace rdmagpu::cli {

Result<StreamSlots> StreamSlots::shared(const StagedBufferConfig& config) {
  RdmaGpuBufferConfig wanted = config.buffer;
  // What a peer on the CPU can reach.
  wanted.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  auto buffer = RdmaGpuBuffer::make(wanted);
  if(!buffer)
    return buffer.error();
  StreamSlots slots;
  if(config.proof) {
    auto proof = FrameProof::make(*buffer, *config.proof);
    if(!proof)
      return proof.error();
    slots.m_proof = std::make_unique<FrameProof>(*std::move(proof));
  }
  auto ring =
      SlotRing::make({.slotCount = wanted.slotCount, .policy = config.policy, .proof = slots.m_proof.get()});
  if(!ring)
    return ring.error();
  slots.m_buffer = *std::move(buffer);
  slots.m_ring.emplace(*std::move(ring));
  return slots;
}

Result<StreamSlots> StreamSlots::staged(const StagedBufferConfig& config) {
  StagedBufferConfig wanted = config;
  wanted.path = SlotPath::Staged;
  wanted.buffer.accepts = {HandoffKind::HostPointer};
  return twoSets(wanted);
}

Result<StreamSlots> StreamSlots::failingOver(const StagedBufferConfig& config) {
  StagedBufferConfig wanted = config;
  wanted.path = SlotPath::Direct;
  wanted.buffer.accepts = {HandoffKind::HostPointer, HandoffKind::CudaPointer}; // by the copy engine
  return twoSets(wanted);
}

Result<StreamSlots> StreamSlots::twoSets(const StagedBufferConfig& config) {
  auto staged = StagedBuffer::make(config);
  if(!staged)
    return staged.error();
  StreamSlots slots;
  slots.m_staged.emplace(*std::move(staged));
  return slots;
}

std::optional<FrameProofCounters> StreamSlots::proofCounters() const noexcept {
  if(m_staged)
    return m_staged->proofCounters();
  return m_proof ? std::optional(m_proof->counters()) : std::nullopt;
}

void StreamSlots::endProof() noexcept {
  if(m_staged)
    m_staged->close();
  for(std::uint32_t slot = 0; m_proof && slot < m_proof->slotCount(); ++slot)
    m_proof->recheck(slot);
}

std::vector<PeerSlot> StreamSlots::peerSlots() const {
  std::vector<PeerSlot> slots;
  for(std::uint32_t i = 0; i < application().slotCount(); ++i)
    slots.push_back(slotNow(i));
  return slots;
}

PeerSlot StreamSlots::slotNow(std::uint32_t slot) const {
  return {m_staged ? m_staged->handoff(slot) : m_buffer->handoff(slot), application().slot(slot).size};
}

std::size_t StreamSlots::peerSliceBytes() const noexcept {
  // As cards do, which tell of a frame while it arrives.
  constexpr std::size_t slicesOfAFrame = 32;
  return stagedFromTheStart() ? std::max<std::size_t>(application().facts().frameBytes / slicesOfAFrame, 1)
                              : 0;
}

} // namespace rdmagpu::cli
