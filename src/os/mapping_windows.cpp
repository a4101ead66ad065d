#include <base/align.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <os/calls_windows.hpp>
#include <os/mapping.hpp>

namespace rdmagpu::os {
namespace {

/// Views and regions begin at multiples of it. Source: Microsoft, SYSTEM_INFO::dwAllocationGranularity.
constexpr std::size_t allocationGranularity = gpuPageBytes;
constexpr DWORD mapLargePages = 0x20000000; // FILE_MAP_LARGE_PAGES, which mingw-w64 10 has not

} // namespace

Result<Mapping> Mapping::make(int fd, std::size_t bytes, std::size_t alignment, Pages pages, int node) {
  const DWORD preferred = node < 0 ? NUMA_NO_PREFERRED_NODE : static_cast<DWORD>(node);
  const bool huge = pages == Pages::Huge;
  Mapping mapping;
  if(fd < 0) {
    const DWORD kind = MEM_RESERVE | MEM_COMMIT | (huge ? MEM_LARGE_PAGES : 0U);
    void* data =
        call::virtualAlloc(::GetCurrentProcess(), nullptr, bytes, kind, DWORD{PAGE_READWRITE}, preferred);
    if(!data)
      return call::virtualAlloc.refusal(bytes);
    mapping.m_reserved = data;
    mapping.m_data = static_cast<std::byte*>(data);
  } else {
    const DWORD access = FILE_MAP_READ | FILE_MAP_WRITE | (huge ? mapLargePages : 0U);
    void* data = call::mapViewOfFile(handleOf(fd), access, 0U, 0U, bytes, nullptr, preferred);
    if(!data)
      return call::mapViewOfFile.refusal(bytes);
    mapping.m_data = static_cast<std::byte*>(data);
  }
  mapping.m_bytes = bytes;
  const auto start = reinterpret_cast<std::uintptr_t>(mapping.m_data); // whose rest must be looked at
  if(alignment > allocationGranularity && start % alignment != 0)
    return libraryError("VirtualAlloc", LibraryCode::PlatformLacks, alignment, allocationGranularity);
  return mapping;
}

Mapping::~Mapping() {
  if(m_reserved && !call::virtualFree(m_reserved, SIZE_T{0}, DWORD{MEM_RELEASE}))
    log(LogLevel::Failure, "host memory could not be freed", call::virtualFree.refusal(m_bytes));
  if(m_data && !m_reserved && !call::unmapViewOfFile(m_data))
    log(LogLevel::Failure, "host memory could not be unmapped", call::unmapViewOfFile.refusal(m_bytes));
}

} // namespace rdmagpu::os
