#pragma once
#include <backend/canaries.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rdmagpu::core {

using backend::CanaryPlace;

/// What a look at a slot finds at its sampled places: of each kind the first one's offset in the slot.
struct Samples {
  std::optional<std::size_t> untouched{};   ///< Within the frame: as it was at the last look.
  std::optional<std::size_t> changed{};     ///< Within the frame: not so.
  std::optional<std::size_t> overwritten{}; ///< Changed, behind the frame's end.
};

/// Where the canaries of one slot lie, and what it means that some of them have changed.
class SlotCanaries {
public:
  static constexpr std::size_t minFrameBytes = 8;
  static constexpr std::size_t pageBytes = 4096;

  /// `key` chooses the places.
  SlotCanaries(std::size_t frameBytes, std::size_t slotBytes, std::uint64_t key);

  std::span<const CanaryPlace> places() const noexcept { return m_places; }
  /// Of a frame of `bytes` bytes.
  Samples judge(backend::Canaries::Changed, std::size_t bytes) const noexcept;

private:
  void addFrame(std::size_t frameBytes, std::uint64_t key);
  void addGuards(std::size_t from, std::size_t to);
  std::optional<std::size_t> first(backend::Canaries::Changed, bool changed, std::size_t from,
                                   std::size_t to) const noexcept;

  std::vector<CanaryPlace> m_places; ///< By offset.
  std::size_t m_inFrame{};           ///< So many lie within the frame, the others behind it.
};

} // namespace rdmagpu::core
