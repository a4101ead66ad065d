#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace rdmagpu {
class RdmaGpuBuffer;
class StagedBuffer;
} // namespace rdmagpu

namespace rdmagpu::peers {

/// How much is pinned by one call.
enum class PinUnit : std::uint8_t {
  Slot,
  Region, ///< All slots of a buffer in one piece: one key, and slot i at PinnedSlot::offset.
};

/// Memory that a registrar is to pin.
struct PinView {
  Handoff handoff{}; ///< Its first byte; DmaBufOnly where it goes as a dma-buf.
  std::uint64_t bytes{};
  std::uint32_t slot{}; ///< The first one in it.
  std::uint32_t slotCount{};
  int dmaBuf = -1; ///< Borrowed, open until it was unpinned; -1 where it goes by its address.
  std::uint64_t dmaBufOffset{};
};

/// A slot that is pinned.
struct PinnedSlot {
  Handoff handoff{};     ///< The buffer's, whatever it was pinned by.
  std::uint64_t bytes{}; ///< 0: there is no such slot.
  std::uint32_t slot{};
  std::uint64_t key{};    ///< What pin() returned.
  std::uint64_t offset{}; ///< From the first byte of what was pinned by that call.
};

/// What a peer's SDK takes. All of it is checked before anything is pinned.
struct PinLimits {
  /// Memory of another kind goes as a dma-buf if DmaBuf is among them, and is refused if not.
  Handoffs accepts{};
  std::uint64_t alignment{};     ///< Of the address (or the dma-buf's offset), and of the size. 0: any.
  std::uint64_t maxBytes{};      ///< Of one pin. 0: any.
  std::uint64_t maxTotalBytes{}; ///< Of all pins together. 0: any.
  bool memAllocOnly{};           ///< Of CUDA's memory, only cuMemAlloc's (CudaMemory::MemAlloc).
};

/// How a peer's SDK pins memory, in the SDK's own calls. `pin` and `unpin` must be set. An exception of any
/// of them is an Error: OutOfMemory for bad_alloc, RegistrarThrew for others. None may use the
/// PeerRegistration that calls it.
struct Registrar {
  const char* name = "peer"; ///< Static text, for reports.
  PinLimits limits{};
  PinUnit unit{};
  /// Returns what the SDK has for what it pinned (a key, a handle, an IOVA), or peerError().
  std::function<Result<std::uint64_t>(const PinView&)> pin{};
  std::function<Result<void>(const PinView&, std::uint64_t key)> unpin{};
  /// Called before anything is unpinned: returns when no DMA is under way, and none can begin. Empty: whoever
  /// uses the registration sees to that.
  std::function<Result<void>()> quiesce{};
  /// Make the peer write to, and read from, the start of a slot, and return when it has. Empty: it cannot be
  /// told to.
  std::function<Result<void>(const PinnedSlot&, std::span<const std::byte>)> write{};
  std::function<Result<void>(const PinnedSlot&, std::span<std::byte>)> read{};
  Agent agent{Agent::Software}; ///< Who moves these bytes. Device: a real card's DMA engine, nothing less.
  /// Have make() verify what it has pinned, and undo it all where a direction fails, or none could be tried.
  std::optional<VerifyOptions> verify{};
};

/// The slots of a buffer, pinned by the SDK of a peer for which there is no other glue.
///
/// All or none: where a slot is refused, those that were pinned before it are unpinned, the last one first,
/// and the Error has the slot and the SDK's own code. That the SDK has pinned memory proves nothing: proof()
/// says Written and Read only after verify() has seen bytes of the peer.
///
/// Holds the memory until it is unpinned, whichever object goes first. What the SDK does not let go of
/// (quiesce or unpin fails in the destructor) is kept for good, since the peer may still use it; the log sink
/// is told. What the callbacks borrow must be there until release(), which calls nothing in a forked child.
///
/// For one thread at a time. Move-only; empty after a move.
class RDMAGPU_API PeerRegistration {
public:
  PeerRegistration() noexcept;
  /// As release().
  ~PeerRegistration();
  PeerRegistration(PeerRegistration&&) noexcept;
  PeerRegistration& operator=(PeerRegistration&&) noexcept;

  static Result<PeerRegistration> make(const RdmaGpuBuffer&, Registrar);
  /// The slots that the StagedBuffer's peer may ever be handed: with FaultPolicy::FailOver the direct ones,
  /// and behind them those in reserve. Companions are a buffer of their own
  /// (StagedBuffer::companionBuffer()).
  static Result<PeerRegistration> make(const StagedBuffer&, Registrar);

  bool valid() const noexcept; ///< Something is pinned.
  std::size_t slotCount() const noexcept;
  PinnedSlot slot(std::size_t i) const noexcept;
  /// The one of that address, such as StagedBuffer::handoff().
  PinnedSlot slot(const Handoff&) const noexcept;

  /// Proves, slot by slot, that the peer's bytes arrive and that it reads ours; see rdmagpu::verify(). The
  /// buffer is one whose slots are pinned here. Overwrites the slots; the peer must not be streaming. Without
  /// write and read nothing is touched, and both directions are Unknown.
  Result<VerifyReport> verify(const RdmaGpuBuffer&, const VerifyOptions& = {});
  /// How far it has come: Registered, and what verify() has found.
  Proof proof() const noexcept;

  /// Quiesces the peer, and unpins all, the last one first. What could not be unpinned stays, and may be
  /// tried again. Idempotent.
  Result<void> release() noexcept;

private:
  struct Impl;
  explicit PeerRegistration(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu::peers
