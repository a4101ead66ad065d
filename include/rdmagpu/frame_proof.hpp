#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rdmagpu {

namespace core {
struct ProofAccess;
}

class RdmaGpuBuffer;

/// What is wrong with a frame that a peer wrote, as the slot's memory tells.
enum class FrameFault : std::uint8_t {
  None,
  Stale,       ///< Nothing of it was written.
  Torn,        ///< Some of it was written, and some not.
  Late,        ///< The slot changed after the frame had been checked.
  WrongOffset, ///< Bytes came where none belong: behind the frame's end; or into a slot whose frame was
               ///< whole, all over it or at its start, as from the slot before.
  Short,       ///< The peer announced fewer bytes than a frame has.
  Unchecked, ///< Nobody knows: a call of the GPU's driver failed, as the log says, so that the canaries were
             ///< not laid, or could not be looked at.
};
/// "none", "stale", "torn", "late", "wrong-offset", "short", "unchecked".
RDMAGPU_API const char* name(FrameFault) noexcept;

/// What a ring does with a frame that is found faulty before it is handed over.
enum class FaultPolicy : std::uint8_t {
  Report,   ///< Hands it over; RingFrame::fault says what is wrong.
  Drop,     ///< Keeps it from the consumer and counts a drop. Of Unchecked ones, too.
  FailOver, ///< StagedBuffer on a direct path: from the first fault on slots go to the peer as host memory,
            ///< and frames are copied. publish() of the faulty frame answers RingStatus::Faulty, so that it
            ///< can be written again; one that is found later is dropped. Elsewhere as Drop.
};

struct FrameProofConfig {
  FaultPolicy onFault{FaultPolicy::Report};
  std::uint64_t seed{}; ///< Of the canaries and their places; two runs with one seed look at the same bytes.
  bool wholeFrames{true}; ///< Every frame has frameBytes bytes: fewer are Short.
};

/// Each counts faults, not frames: one that comes in late has been torn before.
struct FrameProofCounters {
  std::uint64_t checked{}; ///< Frames that were looked at.
  std::uint64_t stale{};
  std::uint64_t torn{};
  std::uint64_t late{};
  std::uint64_t wrongOffset{};
  std::uint64_t shortFrames{};
  std::uint64_t unchecked{}; ///< Calls of arm() and check().

  std::uint64_t faults() const noexcept {
    return stale + torn + late + wrongOffset + shortFrames + unchecked;
  }
  FrameProofCounters& operator+=(const FrameProofCounters& other) noexcept {
    checked += other.checked;
    stale += other.stale;
    torn += other.torn;
    late += other.late;
    wrongOffset += other.wrongOffset;
    shortFrames += other.shortFrames;
    unchecked += other.unchecked;
    return *this;
  }
};

/// One look at a slot.
struct FrameFinding {
  FrameFault fault{};
  std::size_t offset{}; ///< In the slot, of the first byte that tells.
};

/// Proof that what a peer says it has written into slots is there: before a slot goes to the peer canaries
/// are laid into it, words of 8 bytes that no frame has but once in 2^64, and when it comes back they must be
/// gone. They lie at the frame's start and its end, once in every 4 KiB page between, at places that differ
/// by slot and seed, and behind the frame's end up to the slot's, where they must stay. So each look touches
/// one cache line in a page. It finds a frame that did not come, or came in part, to the page, and what came
/// too late, or into another slot; what is wrong within the bytes that came is for a checksum.
///
/// It tells what is there when it looks. What comes late, but before the look, is no fault; and what goes
/// into a slot that is with the peer, or has not been looked at, is taken for that slot's own frame: at a
/// rate at which slots are hardly ever free a write to the wrong one may show as its stale frame alone. On a
/// staged path each slice is looked at before it is copied.
///
/// Slots on a GPU of CUDA's are looked at where they lie: each arm() and each check() starts a kernel on a
/// stream of its own and polls for its answer, in the context that checksum() uses too; only a GPU that is
/// busy is waited for in the driver. It waits for nothing else, flushes a peer's writes first where the
/// buffer needs that, and leaves the caller's current context as it is. When the driver fails the finding is
/// Unchecked; the next arm() that succeeds lays all canaries anew.
///
/// Most of such a call is the way to the GPU and back. startCheck() and startArm() do not wait: what they
/// have started goes on while the caller, or another thread, gets to check() and arm(), which then have the
/// answer at once. One startCheck() is one kernel, for the frame that has come and the slot that goes to the
/// peer soon.
///
/// A ring does it for all frames (SlotRingConfig::proof, StagedBufferConfig::proof). Without a ring: arm()
/// before each slot goes to the peer, check() when the peer says that its frame is there.
///
/// From check() to the next arm() the slot must only be read: a change is taken for the peer's. The first
/// fault of each kind goes to the log sink.
///
/// A slot's calls belong to whoever holds the slot; calls for different slots, and counters(), may run at
/// once. Nothing but make() allocates: 16 bytes of GPU memory for each page of CUDA slots, and a bit of
/// pinned host memory. Holds the slots' memory. Move-only; must not be moved while in use.
class RDMAGPU_API FrameProof {
public:
  static constexpr std::uint32_t noSlot = ~std::uint32_t{};

  /// Lays canaries into every slot, none of which may be with a peer. Frames have 8 bytes at least.
  /// Unsupported where neither the CPU can address the slots nor CUDA's driver can, or compile the kernel.
  static Result<FrameProof> make(const RdmaGpuBuffer& slots, const FrameProofConfig& = {});
  ~FrameProof();
  FrameProof(FrameProof&&) noexcept;
  FrameProof& operator=(FrameProof&&) noexcept;

  /// Lays new canaries, and tells what had changed since the last check(): None, Late or WrongOffset; or that
  /// it could not lay them, Unchecked. Of a slot that was armed but not checked nothing is said.
  FrameFinding arm(std::uint32_t slot) noexcept;
  /// Starts what arm() does, of a slot that the peer does not have, and that goes there only after arm(),
  /// which waits, and tells. A change between the two is taken for the peer's. Does nothing unless
  /// armsAhead().
  void startArm(std::uint32_t slot) noexcept;
  /// Whether what is started goes on by itself: the slots are on a GPU.
  bool armsAhead() const noexcept;
  /// Looks at a frame of `bytes` bytes: None, Stale, Torn, WrongOffset (behind its end) or Short, of several
  /// the first of these; Unchecked when it could not, or arm() could not. Of a slot that was not armed since
  /// the last check() it repeats what that found.
  FrameFinding check(std::uint32_t slot, std::size_t bytes) noexcept;
  /// Starts what check() does, and startArm() of `armNext`, another slot. check() then waits, and tells;
  /// until then the frame must not be read. Without check() it is arm(), startArm() or recheck() that counts
  /// what was found. Unless armsAhead() it is check().
  void startCheck(std::uint32_t slot, std::size_t bytes, std::uint32_t armNext = noSlot) noexcept;
  /// Looks for changes since check() as arm() does, and lays nothing: for slots that do not go to the peer
  /// again.
  FrameFinding recheck(std::uint32_t slot) noexcept;
  /// What the last check() of that slot found, unless it was armed since; None otherwise.
  FrameFinding finding(std::uint32_t slot) const noexcept;

  FrameProofCounters counters() const noexcept;
  FaultPolicy onFault() const noexcept;
  std::uint32_t slotCount() const noexcept; ///< Calls for slots beyond find None.

private:
  friend struct core::ProofAccess;
  struct Impl;
  explicit FrameProof(std::unique_ptr<Impl>) noexcept;
  std::unique_ptr<Impl> m_impl;
};

} // namespace rdmagpu
