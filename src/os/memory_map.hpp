#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::os {

/// One mapping of this process, as /proc/self/smaps tells.
struct MemoryMapEntry {
  std::uintptr_t begin{};
  std::uintptr_t end{};
  bool readable{};
  bool writable{};
  bool shared{};
  std::uint64_t inode{};
  std::string path;
  std::size_t pageBytes{}; ///< KernelPageSize.
  bool locked{};           ///< VmFlags has "lo".
  bool device{};           ///< VmFlags has "pf" or "io": pages of a device, or none at all.
  bool huge{};             ///< VmFlags has "ht".
};

/// The entries of a text in the format of /proc/self/smaps that overlap [begin, end), by address.
std::vector<MemoryMapEntry> parseSmaps(std::string_view text, std::uintptr_t begin, std::uintptr_t end);

/// The mappings of this process that overlap [begin, end), by address.
Result<std::vector<MemoryMapEntry>> mappingsIn(std::uintptr_t begin, std::uintptr_t end);

/// How many bytes of a mapped range are in memory, counted in whole pages. `begin` is a page's start.
Result<std::size_t> residentBytes(std::uintptr_t begin, std::size_t bytes);

} // namespace rdmagpu::os
