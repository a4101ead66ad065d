#pragma once
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace rdmagpu::cli {

/// The slots of a stream and their ring: one set that peer and program use, or one for each.
class StreamSlots {
public:
  /// One set, which the program's queues reach for the peer too.
  static Result<StreamSlots> shared(const StagedBufferConfig& config);
  /// Two, whatever the peer could reach.
  static Result<StreamSlots> staged(const StagedBufferConfig& config);
  /// One set, and another of host memory that the peer gets once the first has failed.
  static Result<StreamSlots> failingOver(const StagedBufferConfig& config);

  const RdmaGpuBuffer& application() const noexcept {
    return m_staged ? m_staged->applicationBuffer() : *m_buffer;
  }
  SlotRing& ring() noexcept { return m_staged ? m_staged->ring() : *m_ring; }
  /// Why copies between two sets have ended; kind None while they go on, or there is one.
  Error copyError() const noexcept { return m_staged ? m_staged->error() : Error{}; }
  /// Whether the peer had slots of its own from the start.
  bool stagedFromTheStart() const noexcept { return m_staged && m_staged->facts().path == SlotPath::Staged; }
  /// Whether it got them later.
  bool failedOver() const noexcept { return m_staged && m_staged->path() != m_staged->facts().path; }
  /// Empty: there is one set.
  std::optional<StagedBufferFacts> staging() const {
    return stagedFromTheStart() ? std::optional(m_staged->facts()) : std::nullopt;
  }
  /// Of what the peer wrote; empty when that is not proven.
  std::optional<FrameProofCounters> proofCounters() const noexcept;
  /// Looks for what came too late for the last frames. For when the peer has stopped.
  void endProof() noexcept;
  /// As the peer sees them.
  std::vector<PeerSlot> peerSlots() const;
  /// The memory that a slot which the peer has acquired is this time.
  PeerSlot slotNow(std::uint32_t slot) const;
  /// Of the peer's writes; 0: whole frames.
  std::size_t peerSliceBytes() const noexcept;

private:
  StreamSlots() = default;
  static Result<StreamSlots> twoSets(const StagedBufferConfig& config);

  std::optional<RdmaGpuBuffer> m_buffer;
  std::unique_ptr<FrameProof> m_proof; ///< The ring's.
  std::optional<SlotRing> m_ring;
  std::optional<StagedBuffer> m_staged;
};

} // namespace rdmagpu::cli
