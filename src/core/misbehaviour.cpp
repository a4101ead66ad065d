#include <core/misbehaviour.hpp>

#include <algorithm>

namespace rdmagpu {

SlotRange overrunOf(const PeerJob& job, std::uint64_t frame, std::uint32_t slot, std::size_t bytes) noexcept {
  if(job.misbehaves(Misbehaviour::Overrun, frame) && bytes < job.slots[slot].size)
    return {.slot = slot, .offset = bytes, .bytes = 1};
  const std::uint32_t next = slot + 1;
  if(job.misbehaves(Misbehaviour::OverrunSlot, frame) && next < job.slots.size())
    return {.slot = next, .bytes = std::min(overrunBytes, job.slots[next].size)};
  return {};
}

std::uint32_t takenFor(const PeerJob& job, std::uint64_t frame, std::uint32_t slot,
                       std::size_t bytes) noexcept {
  if(!job.misbehaves(Misbehaviour::WrongSlot, frame))
    return slot;
  const std::uint32_t next = slot + 1 < job.slots.size() ? slot + 1 : 0;
  return bytes <= job.slots[next].size ? next : slot;
}

} // namespace rdmagpu
