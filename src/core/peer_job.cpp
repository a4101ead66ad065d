#include <core/peer_job.hpp>

#include <base/library_error.hpp>

#include <algorithm>
#include <cstring>

namespace rdmagpu {

Result<PeerMemory> memoryOf(const char* call, const PeerSlot& slot, const CopyQueue* queue) noexcept {
  const HandoffKind handoff = kind(slot.handoff);
  if(!queue && handoff != HandoffKind::HostPointer && handoff != HandoffKind::PciMapping)
    return libraryError(call, LibraryCode::PeerCannotAddress, slot.size);
  auto* address = queue ? nullptr : static_cast<std::byte*>(cpuAddress(slot.handoff));
  if((!address && !queue) || slot.size == 0)
    return libraryError(call, LibraryCode::PeerSlotEmpty, slot.size);
  return PeerMemory{address, slot.size};
}

std::size_t PeerJob::largestSlot() const noexcept {
  std::size_t largest = 0;
  for(const PeerMemory& slot : slots)
    largest = std::max(largest, slot.size);
  return largest;
}

Result<Copy> PeerJob::write(std::uint32_t slot, std::size_t offset, std::span<const std::byte> from) const {
  if(from.empty())
    return Copy{};
  if(queue && !slots[slot].address)
    return queue->upload(slot, from, offset);
  std::memcpy(slots[slot].address + offset, from.data(), from.size());
  return Copy{};
}

Result<Copy> PeerJob::read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const {
  if(to.empty())
    return Copy{};
  if(queue && !slots[slot].address)
    return queue->download(slot, to, offset);
  std::memcpy(to.data(), slots[slot].address + offset, to.size());
  return Copy{};
}

} // namespace rdmagpu
