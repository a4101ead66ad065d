#include <base/align.hpp>
#include <base/library_error.hpp>
#include <core/slot_layout.hpp>

#include <cstddef>
#include <limits>

namespace rdmagpu::core {

Result<SlotLayout> layOut(const char* call, std::uint32_t slotCount, std::size_t frameBytes,
                          std::size_t granularity) noexcept {
  if(slotCount == 0)
    return libraryError(call, LibraryCode::SlotCountZero);
  if(frameBytes == 0)
    return libraryError(call, LibraryCode::FrameBytesZero);
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  const auto stride = roundUp(frameBytes, granularity);
  const auto total = stride ? checkedMultiply(*stride, slotCount) : std::nullopt;
  if(!total || *total > most)
    return libraryError(call, LibraryCode::SizeOverflow, frameBytes,
                        most / slotCount / granularity * granularity);
  return SlotLayout{slotCount, frameBytes, *stride};
}

Result<void> checkSlot(const char* call, const SlotLayout& layout, std::size_t slot) noexcept {
  if(slot >= layout.slotCount)
    return libraryError(call, LibraryCode::SlotOutOfRange, slot, layout.slotCount);
  return {};
}

Result<void> checkRange(const char* call, const SlotLayout& layout, std::size_t slot, std::size_t offset,
                        std::size_t bytes) noexcept {
  if(const auto checked = checkSlot(call, layout, slot); !checked)
    return checked;
  const std::size_t room = layout.stride;
  if(offset > room || bytes > room - offset)
    return libraryError(call, LibraryCode::RangeOutOfSlot, offset > room ? offset : bytes,
                        room - (offset > room ? 0 : offset));
  return {};
}

} // namespace rdmagpu::core
