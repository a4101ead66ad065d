#include <os/calls_windows.hpp>
#include <os/host_pages.hpp>
#include <os/memory_map.hpp>

#include <algorithm>
#include <array>

namespace rdmagpu::os {
namespace {

void* pointer(std::uintptr_t address) noexcept {
  return reinterpret_cast<void*>(address); // the number came from a pointer
}

bool isReadable(DWORD protection) noexcept {
  return (protection & (PAGE_NOACCESS | PAGE_GUARD)) == 0 && protection != PAGE_EXECUTE && protection != 0;
}

bool isWritable(DWORD protection) noexcept {
  return isReadable(protection) && (protection & (PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE |
                                                  PAGE_EXECUTE_WRITECOPY)) != 0;
}

/// The file behind a view; empty for memory of the paging file.
std::string fileBehind(void* address) {
  std::array<char, 1024> name{};
  const DWORD length =
      ::K32GetMappedFileNameA(::GetCurrentProcess(), address, name.data(), static_cast<DWORD>(name.size()));
  return {name.data(), length};
}

/// What the system tells of each page of a range.
Result<std::vector<PSAPI_WORKING_SET_EX_INFORMATION>> pagesIn(std::uintptr_t begin, std::size_t bytes) {
  const std::size_t page = pageBytes();
  std::vector<PSAPI_WORKING_SET_EX_INFORMATION> pages((bytes + page - 1) / page);
  for(std::size_t i = 0; i < pages.size(); ++i)
    pages[i].VirtualAddress = pointer(begin + i * page);
  if(!pages.empty() && !call::queryWorkingSet(::GetCurrentProcess(), pages.data(),
                                              static_cast<DWORD>(pages.size() * sizeof pages.front())))
    return call::queryWorkingSet.refusal(bytes);
  return pages;
}

} // namespace

Result<std::vector<MemoryMapEntry>> mappingsIn(std::uintptr_t begin, std::uintptr_t end) {
  std::vector<MemoryMapEntry> entries;
  for(std::uintptr_t at = begin; at < end;) {
    MEMORY_BASIC_INFORMATION told{};
    if(call::virtualQuery(pointer(at), &told, sizeof told) == 0)
      return call::virtualQuery.refusal();
    const auto base = reinterpret_cast<std::uintptr_t>(told.BaseAddress); // to compare addresses
    const std::uintptr_t stop = base + told.RegionSize;
    if(told.State == MEM_COMMIT) {
      MemoryMapEntry entry{.begin = base,
                           .end = stop,
                           .readable = isReadable(told.Protect),
                           .writable = isWritable(told.Protect),
                           .shared = told.Type == MEM_MAPPED,
                           .inode = 0,
                           .path = {},
                           .pageBytes = pageBytes()};
      if(told.Type != MEM_PRIVATE)
        entry.path = fileBehind(told.BaseAddress);
      entry.inode = entry.path.empty() ? 0 : 1;
      if(const auto first = pagesIn(std::max(base, begin), 1)) {
        const auto& attributes = first->front().VirtualAttributes;
        entry.locked = attributes.Valid && attributes.Locked;
        entry.huge = attributes.Valid && attributes.LargePage;
      }
      entries.push_back(std::move(entry));
    }
    at = stop;
  }
  return entries;
}

Result<std::size_t> residentBytes(std::uintptr_t begin, std::size_t bytes) {
  const auto pages = pagesIn(begin, bytes);
  if(!pages)
    return pages.error();
  const auto in = std::count_if(pages->begin(), pages->end(),
                                [](const auto& page) { return page.VirtualAttributes.Valid != 0; });
  return static_cast<std::size_t>(in) * pageBytes();
}

} // namespace rdmagpu::os
