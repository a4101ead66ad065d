#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu::backend {

/// A word of a slot that is looked at: as many bytes from there on, 8 at most.
struct CanaryPlace {
  std::size_t offset{}; ///< In the slot.
  std::size_t width = sizeof(std::uint64_t);
};

struct CanarySlot {
  std::size_t offset{}; ///< In the region.
  std::span<const CanaryPlace> places{};
};

/// Words at chosen places of some slots, and what was there at the last look. Calls for different slots may
/// be made at once. They allocate nothing, and have looked, and written, when they return.
///
/// An error leaves open what is in the slot, and what the next look finds; a later lay() makes it known.
class Canaries {
public:
  /// Bit i: whether something else is at the slot's place i than at the last look. By 32 from the lowest bit
  /// on; those behind the last place are 0. Holds until the next call for that slot.
  using Changed = std::span<const std::uint32_t>;
  static constexpr std::size_t bitsPerWord = 32;

  virtual ~Canaries() = default;
  virtual Result<Changed> look(std::size_t slot) noexcept = 0;
  /// Looks, and then writes mix(key + i * goldenStep) to each place i, or as many of its first bytes as fit.
  virtual Result<Changed> lay(std::size_t slot, std::uint64_t key) noexcept = 0;
};

} // namespace rdmagpu::backend
