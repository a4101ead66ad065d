#pragma once
#include <backend/canaries.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmagpu::core {

/// Canaries in memory that the CPU can address, and that outlives them.
class HostCanaries final : public backend::Canaries {
public:
  /// Slots have numbers in the order in which they are added.
  void add(std::byte* slot, std::span<const backend::CanaryPlace>);

  Result<Changed> look(std::size_t slot) noexcept override;
  Result<Changed> lay(std::size_t slot, std::uint64_t key) noexcept override;

private:
  struct Word {
    std::uint64_t last{}; ///< What was there.
    backend::CanaryPlace place;
  };
  struct Slot {
    std::byte* data{};
    std::vector<Word> words;
    std::vector<std::uint32_t> changed;
  };

  std::vector<Slot> m_slots;
};

} // namespace rdmagpu::core
