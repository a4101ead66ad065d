#pragma once
#include "failure.hpp"
#include "stream/stream_options.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <cstddef>
#include <optional>

namespace rdmagpu::cli {

/// The slots that the frames go through, and the ring that hands them over: one set for both sides, or with
/// --staged one for each.
class StreamSlots {
public:
  /// Empty, with `failure`, when they cannot be had.
  static std::optional<StreamSlots> make(const StreamOptions&, std::size_t frameBytes, Failure& failure);

  const RdmaGpuBuffer& application() const noexcept {
    return m_staged ? m_staged->applicationBuffer() : m_both;
  }
  const RdmaGpuBuffer& peer() const noexcept { return m_staged ? m_staged->peerBuffer() : m_both; }
  SlotRing& ring() noexcept { return m_staged ? m_staged->ring() : *m_ring; }
  /// Null: there is one set of slots.
  const StagedBuffer* staged() const noexcept { return m_staged ? &*m_staged : nullptr; }

private:
  RdmaGpuBuffer m_both;
  std::optional<SlotRing> m_ring;
  std::optional<StagedBuffer> m_staged;
};

} // namespace rdmagpu::cli
