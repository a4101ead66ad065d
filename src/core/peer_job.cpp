#include <core/peer_job.hpp>

#include <cstring>

namespace rdmagpu {

Result<Copy> PeerJob::write(std::uint32_t slot, std::size_t offset, std::span<const std::byte> from) const {
  if(queue)
    return queue->upload(slot, from, offset);
  if(!from.empty())
    std::memcpy(slots[slot].address + offset, from.data(), from.size());
  return Copy{};
}

Result<Copy> PeerJob::read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const {
  if(queue)
    return queue->download(slot, to, offset);
  if(!to.empty())
    std::memcpy(to.data(), slots[slot].address + offset, to.size());
  return Copy{};
}

} // namespace rdmagpu
