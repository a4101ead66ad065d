#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/proof.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rdmagpu {

/// What kind of pages a range of foreign memory lies in.
enum class MemoryKind : std::uint8_t {
  Private,         ///< Anonymous, private: the heap, new, malloc. Copied on write after a fork.
  SharedAnonymous, ///< mmap with MAP_SHARED | MAP_ANONYMOUS, System V shared memory.
  Memfd,           ///< A memfd, or POSIX shared memory.
  HugePages,       ///< Pages of the hugetlb pool.
  PrivateFile,     ///< A file mapped privately: copied on write.
  SharedFile,      ///< A file of a disk: the page cache, written back at any time.
  Device,          ///< A device driver's mapping: a BAR, a dma-buf, VRAM. It may have no pages to pin.
  Mixed,           ///< The range spans mappings of several kinds.
};

/// "private", "shared-anonymous", "memfd", "huge-pages", "private-file", "shared-file", "device", "mixed".
RDMAGPU_API const char* name(MemoryKind) noexcept;

/// What memory that somebody else allocated is, and whether a peer could use it.
struct MemoryFacts {
  MemoryKind kind{};
  std::string mapping{};   ///< What the kernel calls it: a path, "/memfd:name", "[heap]"; may be empty.
  std::size_t pageBytes{}; ///< The kernel's page size there.
  bool readable{};
  bool writable{};
  bool aligned64K{};           ///< Starts on a 64 KiB boundary.
  std::size_t residentBytes{}; ///< In memory now, counted in whole pages.
  std::size_t lockedBytes{};   ///< In a locked mapping, counted in whole pages.
  bool copiedOnFork{}; ///< After a fork a write moves this process to another page while a peer keeps the old
                       ///< one.
  Answer peerUsable{}; ///< Whether a peer's driver can pin it; Unknown when only trying would tell.
  std::string why{};   ///< The reason for that answer, in a sentence.
};

/// Looks at [pointer, pointer + size) without touching it. The memory must not be unmapped meanwhile.
/// A range that is not wholly mapped is an Error, as are a null pointer and size 0.
RDMAGPU_API Result<MemoryFacts> inspect(const void* pointer, std::size_t size);

} // namespace rdmagpu
