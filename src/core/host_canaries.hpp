#pragma once
#include <backend/canaries.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmagpu::core {

/// Canaries in memory that the CPU can address, and that outlives them.
class HostCanaries final : public backend::Canaries {
public:
  /// Slots have numbers in the order in which they are added.
  void add(std::byte* slot, std::span<const backend::CanaryPlace>);

  bool isAsynchronous() const noexcept override { return false; }
  Result<void> start(std::span<const backend::CanaryTask>) noexcept override;
  void lookAhead(std::size_t slot, std::size_t bytes) noexcept override;
  Result<Changed> finish(std::size_t slot) noexcept override { return Changed{m_slots[slot].changed}; }

private:
  struct Word {
    std::uint64_t last{}; ///< What was there.
    backend::CanaryPlace place;
  };
  struct Slot {
    std::byte* data{};
    std::vector<Word> words;
    std::vector<std::uint32_t> changed;
    std::size_t looked{}; ///< Words that were looked at ahead.
  };

  static void lookUpTo(Slot&, std::size_t end) noexcept;
  static void lay(Slot&, std::uint64_t key) noexcept;

  std::vector<Slot> m_slots;
};

} // namespace rdmagpu::core
