#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/frame_proof.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace rdmagpu {

/// How frames get from the peer to the memory that the application uses, and back.
enum class SlotPath : std::uint8_t {
  Direct, ///< The peer reaches that very memory.
  Staged, ///< The peer has slots of host memory; each frame is copied between them and the application's.
};
/// "direct", "staged".
RDMAGPU_API const char* name(SlotPath) noexcept;

/// Capture: the peer fills slots, the application uses them. Playout: the other way round.
enum class SlotFlow : std::uint8_t { Capture, Playout };

struct StagedBufferConfig {
  /// The application's slots. `api` is where it wants them (Auto: on a GPU if there is one), `accepts` and
  /// `peer` are the peer's; `rdma` follows from `path` and `accepts`, and is not read. The peer's own slots,
  /// where it gets some, follow `host`; of Cuda's they are pinned for the copy engine, and creation fails
  /// where they cannot be, unless `host.gpuPin` is Try.
  RdmaGpuBufferConfig buffer{};
  SlotFlow flow{SlotFlow::Capture};
  RingPolicy policy{RingPolicy::Fifo};
  std::optional<SlotPath> path{}; ///< Empty: direct where the peer can reach the application's slots, else
                                  ///< staged. A path that cannot be had fails the creation.
  std::size_t companionBytes{};   ///< Of host memory beside each slot, for what belongs to a frame; 0: none.
  std::size_t sliceBytes{};       ///< See StagedBufferFacts::sliceBytes; 0: measured.
  std::optional<FrameProofConfig> proof{}; ///< Prove every frame that the peer writes; see
                                           ///< SlotRingConfig::proof. Capture only.
};

/// What a StagedBuffer is.
struct StagedBufferFacts {
  SlotPath path{};
  Error reason{};            ///< Why the path is not direct; kind None when it is, or was not to be.
  BufferFacts application{}; ///< Of the application's slots.
  BufferFacts peer{};        ///< Of the peer's slots: the same on a direct path.
  /// A frame that is published in part is copied in pieces of at least this size. Measured at creation: the
  /// smallest power of two of which half the time of a copy, or more, goes into moving bytes at the rate of
  /// a whole frame. 0 on a direct path.
  std::size_t sliceBytes{};
  std::size_t companionBytes{};
};

/// Slots through which a peer and an application exchange frames, on whatever path there is between them,
/// written once: one set of slots that both use where the peer can reach the application's memory; else
/// slot i twice, once for each, and a thread that copies between the two through the GPU's copy engine.
///
/// The ring is used in the same way on both paths, and policy, drops, underruns and order are the same. On
/// the staged path a frame that was published whole can be taken once it has been copied. One that was
/// published in part is copied while it grows, and can be taken in part: RingFrame::bytesReady, bytesReady()
/// and waitBytes() speak of what has been copied.
///
/// With FaultPolicy::FailOver a direct path has the peer's host slots and the thread in reserve. From the
/// first fault on the slots that the peer's side acquires are those: it asks handoff() for each slot that it
/// has acquired, and registers those of both buffers with its SDK beforehand. What is under way is not
/// touched, and no frame that was right is lost; the log sink is told once.
///
/// With `proof` the thread checks each frame in the peer's slot while it is copied; one that was published in
/// part, once it is whole. On a direct path the ring does, as SlotRingConfig::proof says.
///
/// A frame whose copy has failed is never handed over as whole: both sides of the ring are closed,
/// waitBytes() ends with Closed, and error() says why.
///
/// The thread sleeps while nothing is on its way. It polls for 2 ms at most while a copy is under way or the
/// end of a frame is due. Nothing but make() allocates.
///
/// Whoever uses the ring must be done with it before this object goes. What the completions point to that
/// were published, such as a CopyQueue, must live until close() has returned or this object is gone: the
/// thread asks them. Move-only; must not be moved while the ring is in use. Empty after a move: no slots, and
/// the ring's calls answer Misuse. A copy of it in a forked child copies nothing.
class RDMAGPU_API StagedBuffer {
public:
  /// All of it or nothing.
  static Result<StagedBuffer> make(const StagedBufferConfig&);
  /// As close().
  ~StagedBuffer();
  StagedBuffer(StagedBuffer&&) noexcept;
  StagedBuffer& operator=(StagedBuffer&&) noexcept;

  const StagedBufferFacts& facts() const noexcept;
  /// The peer's and the application's: in capture the peer produces, in playout the application does.
  SlotRing& ring() noexcept { return m_ring; }
  /// What the peer's SDK wants for slot `i`; monostate when out of range. Of a slot that the peer's side has
  /// acquired, the one to use this time: see FaultPolicy::FailOver.
  Handoff handoff(std::size_t i) const noexcept;
  /// The path of the slots that the peer's side acquires now: that of facts(), until the direct one has
  /// failed.
  SlotPath path() const noexcept;
  /// What the peer uses, and what the application uses; one buffer on a direct path. With
  /// FaultPolicy::FailOver peerBuffer() is the one in reserve, too. Valid as long as this object; what is
  /// taken from them holds its memory.
  const RdmaGpuBuffer& peerBuffer() const noexcept;
  const RdmaGpuBuffer& applicationBuffer() const noexcept;
  /// Host memory that goes with slot `i` and changes hands with it; starts on a 64 KiB boundary, and is
  /// pinned as the peer's host slots are. Never copied. Empty when out of range, or when none was asked for.
  std::span<std::byte> companion(std::size_t i) const noexcept;
  /// Where companion() lies. Not valid() when none was asked for.
  const RdmaGpuBuffer& companionBuffer() const noexcept;
  /// Closes both sides of the ring, and waits until the copies that are under way and the thread have ended:
  /// then no completion is asked any more, and no slot touched. Frames that are still on their way are lost.
  /// With a proof the slots are looked at once more, for what came after their last frames.
  /// Call it while no other call of this object runs; those of the ring may. Idempotent.
  void close() noexcept;
  /// Empty without a proof.
  std::optional<FrameProofCounters> proofCounters() const noexcept;
  /// Why copying has ended; kind None while it goes on.
  Error error() const noexcept;

private:
  struct Impl;
  StagedBuffer(SlotRing, std::unique_ptr<Impl>) noexcept;
  SlotRing m_ring;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
