#include <base/align.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <os/calls_linux.hpp>
#include <os/mapping.hpp>

namespace rdmagpu::os {

Result<Mapping> Mapping::make(int fd, std::size_t bytes, std::size_t alignment, Pages pages, int) {
  const auto reservedBytes = checkedAdd(bytes, alignment);
  if(!reservedBytes)
    return libraryError("mmap", LibraryCode::SizeOverflow, bytes);

  Mapping mapping;
  void* reserved =
      call::mmap(nullptr, *reservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if(reserved == MAP_FAILED)
    return call::mmap.refusal(bytes);
  mapping.m_reserved = reserved;
  mapping.m_reservedBytes = *reservedBytes;

  const auto start = reinterpret_cast<std::uintptr_t>(reserved); // to round an address, it must be a number
  auto* aligned = static_cast<std::byte*>(reserved) + (alignment - start % alignment) % alignment;
  int flags = MAP_SHARED | MAP_FIXED;
  if(fd < 0)
    flags |= MAP_ANONYMOUS | (pages == Pages::Huge ? MAP_HUGETLB | 21 << MAP_HUGE_SHIFT : 0);
  if(call::mmap(aligned, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED)
    return call::mmap.refusal(bytes);
  mapping.m_data = aligned;
  mapping.m_bytes = bytes;
  return mapping;
}

Mapping::~Mapping() {
  if(m_reserved && call::munmap(m_reserved, m_reservedBytes) != 0)
    log(LogLevel::Failure, "host memory could not be unmapped", call::munmap.refusal(m_reservedBytes));
}

} // namespace rdmagpu::os
