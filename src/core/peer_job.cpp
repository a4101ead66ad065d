#include <core/peer_job.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu {

std::size_t PeerJob::largestSlot() const noexcept {
  std::size_t largest = 0;
  for(const PeerMemory& slot : slots)
    largest = std::max(largest, slot.size);
  return largest;
}

Result<Copy> PeerJob::write(std::uint32_t slot, std::size_t offset, std::span<const std::byte> from) const {
  if(from.empty())
    return Copy{};
  if(queue)
    return queue->upload(slot, from, offset);
  std::memcpy(slots[slot].address + offset, from.data(), from.size());
  return Copy{};
}

Result<Copy> PeerJob::read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const {
  if(to.empty())
    return Copy{};
  if(queue)
    return queue->download(slot, to, offset);
  std::memcpy(to.data(), slots[slot].address + offset, to.size());
  return Copy{};
}

} // namespace rdmagpu
