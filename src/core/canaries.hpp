#pragma once
#include <backend/canaries.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rdmagpu::core {

using backend::CanaryPlace;

/// Samples that have something in common.
struct SampleCount {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  std::size_t number{};
  std::size_t first = none; ///< Offset in the slot.
};

/// What a look at a slot finds at its sampled places.
struct Samples {
  std::size_t looked{};      ///< At how many within the frame.
  SampleCount untouched{};   ///< Of these: as they were at the last look.
  SampleCount changed{};     ///< Of these: not so.
  SampleCount overwritten{}; ///< Changed ones behind the frame's end.
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
  SampleCount count(backend::Canaries::Changed, bool changed, std::size_t from,
                    std::size_t to) const noexcept;

  std::vector<CanaryPlace> m_places; ///< By offset.
  std::size_t m_inFrame{};           ///< So many lie within the frame, the others behind it.
};

} // namespace rdmagpu::core
