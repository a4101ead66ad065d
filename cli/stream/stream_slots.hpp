#pragma once
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace rdmagpu::cli {

/// The slots of a stream and their ring: one set that peer and program use, or one for each.
class StreamSlots {
public:
  /// One set, which the program's queues reach for the peer too.
  static Result<StreamSlots> shared(const RdmaGpuBufferConfig& config, RingPolicy policy);
  /// Two, whatever the peer could reach.
  static Result<StreamSlots> staged(const RdmaGpuBufferConfig& config, RingPolicy policy, SlotFlow flow);

  const RdmaGpuBuffer& application() const noexcept {
    return m_staged ? m_staged->applicationBuffer() : *m_buffer;
  }
  SlotRing& ring() noexcept { return m_staged ? m_staged->ring() : *m_ring; }
  /// Null: there is one set.
  const StagedBuffer* staging() const noexcept { return m_staged ? &*m_staged : nullptr; }
  /// As the peer sees them.
  std::vector<PeerSlot> peerSlots() const;
  /// Of the peer's writes; 0: whole frames.
  std::size_t peerSliceBytes() const noexcept;

private:
  StreamSlots() = default;

  std::optional<RdmaGpuBuffer> m_buffer;
  std::optional<SlotRing> m_ring;
  std::optional<StagedBuffer> m_staged;
};

} // namespace rdmagpu::cli
