#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>

namespace rdmagpu::core {

/// Where the slots of a buffer lie. All sizes in bytes; their products have been checked not to overflow.
struct SlotLayout {
  std::uint32_t slotCount{};
  std::size_t frameBytes{}; ///< As asked.
  std::size_t stride{};     ///< frameBytes rounded up, so that slots start on, and never share, a granule.

  std::size_t offset(std::size_t slot) const noexcept { return slot * stride; }
  std::size_t totalBytes() const noexcept { return slotCount * stride; }
};

/// `granularity` is the device's, at least 64 KiB. `call` is the public function to name in an error.
Result<SlotLayout> layOut(const char* call, std::uint32_t slotCount, std::size_t frameBytes,
                          std::size_t granularity) noexcept;

Result<void> checkSlot(const char* call, const SlotLayout&, std::size_t slot) noexcept;
/// Whether the slot has the range [offset, offset + bytes).
Result<void> checkRange(const char* call, const SlotLayout&, std::size_t slot, std::size_t offset,
                        std::size_t bytes) noexcept;

} // namespace rdmagpu::core
