#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rdmagpu::core {

/// Samples that have something in common.
struct SampleCount {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  std::size_t number{};
  std::size_t first = none; ///< Offset in the slot.

  void add(std::size_t offset) noexcept {
    if(number++ == 0)
      first = offset;
  }
};

/// What a look at a slot finds at its sampled places.
struct Samples {
  std::size_t looked{};      ///< At how many within the frame.
  SampleCount untouched{};   ///< Of these: as they were at the last look.
  SampleCount changed{};     ///< Of these: not so.
  SampleCount overwritten{}; ///< Changed ones behind the frame's end.
};

/// The canaries of one slot of CPU-addressable memory: where they lie, and what was there at the last look.
class SlotCanaries {
public:
  static constexpr std::size_t minFrameBytes = 8;
  static constexpr std::size_t pageBytes = 4096;

  /// `key` chooses the places.
  SlotCanaries(std::byte* slot, std::size_t frameBytes, std::size_t slotBytes, std::uint64_t key);

  /// Looks, and lays new canaries, which `key` chooses.
  Samples lay(std::uint64_t key) noexcept;
  /// Looks at a frame of `bytes` bytes.
  Samples look(std::size_t bytes) noexcept;

private:
  struct Sample {
    std::uint64_t last{}; ///< What was there.
    std::size_t offset{};
    std::size_t width = sizeof(std::uint64_t); ///< Less only where the slot ends.
  };
  void addFrame(std::size_t frameBytes, std::uint64_t key);
  void addGuards(std::size_t from, std::size_t to);
  std::uint64_t read(const Sample&) const noexcept;

  std::byte* m_slot;
  std::vector<Sample> m_samples; ///< By offset.
  std::size_t m_inFrame{};       ///< So many lie within the frame, the others behind it.
};

} // namespace rdmagpu::core
