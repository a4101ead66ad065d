#pragma once
#include "parse/check_mode.hpp"
#include "stream/frame_feed.hpp"
#include "stream/hash.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rdmagpu::cli {

/// What seems to have happened to a frame that is not what its source was.
enum class Damage : std::uint8_t {
  Other, ///< None of those below.
  Stale, ///< It is the frame that was in the slot before.
  Torn,  ///< It begins as its source does and ends otherwise.
  Late,  ///< The slot held the right bytes a moment later.
};

/// "other", "stale", "torn", "late".
const char* name(Damage damage) noexcept;

struct Mismatch {
  std::uint64_t frame{};
  std::uint32_t slot{};
  std::size_t offset{}; ///< The first byte that differs.
  Damage damage{};
};

struct CheckCounts {
  std::uint64_t checked{};
  std::uint64_t mismatches{}; ///< Whatever the damage; the three below are among them.
  std::uint64_t stale{};
  std::uint64_t torn{};
  std::uint64_t late{};
  std::vector<Mismatch> first{}; ///< The first few.
};

/// Compares frames that came through slots with their sources, by hash, and looks closer at those that
/// differ. Belongs to the thread that checks.
class FrameCheck {
public:
  static constexpr std::size_t mostListed = 8;

  /// `hash` is the one that the feed has.
  FrameCheck(FrameFeed& feed, CheckMode mode, std::uint32_t slots, FrameHash hash = hashOf)
      : m_feed(feed), m_mode(mode), m_hash(hash), m_heldBefore(slots) {}

  bool checks(std::uint64_t sequence) const noexcept { return m_mode.checks(sequence); }

  /// Reads the slot anew into the bytes that are checked; false when that fails.
  using Reread = std::function<bool()>;

  /// To be called for every frame that was taken, while `bytes` are as they came. Without `reread`, or with
  /// one that answers false, nothing is found to be late.
  void check(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes,
             const Reread& reread);
  /// The same where the hash was computed in the slot: `read` gets the bytes of a frame that is to be looked
  /// at more closely.
  void checkHash(std::uint64_t sequence, std::uint32_t slot, std::uint64_t hash,
                 std::span<const std::byte> bytes, const Reread& read);

  const CheckCounts& counts() const noexcept { return m_counts; }

private:
  /// Of a frame that is checked.
  void compare(std::optional<SourceFrame> source, Mismatch found, std::uint64_t hash,
               std::span<const std::byte> bytes, const Reread& reread);
  void mismatch(Mismatch mismatch);
  Damage judge(const SourceFrame& source, std::span<const std::byte> bytes, std::uint64_t hash,
               std::uint32_t slot, std::size_t offset, const Reread& reread) const;
  bool comesLate(const SourceFrame& source, std::span<const std::byte> bytes, const Reread& reread) const;

  FrameFeed& m_feed;
  const CheckMode m_mode;
  const FrameHash m_hash;
  std::vector<std::optional<std::uint64_t>> m_heldBefore; ///< By slot: the hash of what was last in it.
  CheckCounts m_counts;
};

} // namespace rdmagpu::cli
