#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// What is to be done with a slot.
struct CanaryTask {
  std::size_t slot{};
  /// With it canaries are laid, once the slot was looked at: mix(key + i * goldenStep) at each place i, or as
  /// many of its first bytes as fit.
  std::optional<std::uint64_t> key{};
};

/// Words at chosen places of some slots, and what was there at the last look. Calls for different slots may
/// be made at once; those for one, by several threads after each other. They allocate nothing.
///
/// An error leaves open what is in the slot, and what the next look finds; a later lay() makes it known.
class Canaries {
public:
  /// Bit i: whether something else is at the slot's place i than at the last look. By 32 from the lowest bit
  /// on; those behind the last place are 0. Holds until the next call for that slot.
  using Changed = std::span<const std::uint32_t>;
  static constexpr std::size_t bitsPerWord = 32;
  static constexpr std::size_t mostTasks = 2;

  virtual ~Canaries() = default;
  /// Whether what is started goes on while the caller does something else. Else it is done at once.
  virtual bool isAsynchronous() const noexcept = 0;
  /// At most that many tasks, each of another slot: about as dear as one. Each has to be finished before its
  /// slot's next one, unless this fails.
  virtual Result<void> start(std::span<const CanaryTask>) noexcept = 0;
  /// Looks already at the places that end within the slot's first bytes; the next look leaves those out.
  /// Nothing where it would have to wait.
  virtual void lookAhead(std::size_t slot, std::size_t bytes) noexcept {
    static_cast<void>(slot);
    static_cast<void>(bytes);
  }
  /// Waits for what was started last: then all is looked at, and written, for devices too.
  virtual Result<Changed> finish(std::size_t slot) noexcept = 0;
};

} // namespace rdmagpu::backend
