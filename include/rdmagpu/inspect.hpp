#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/export.hpp>
#include <rdmagpu/pci_address.hpp>
#include <rdmagpu/proof.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu {

/// What kind of memory a range of foreign memory is.
enum class MemoryKind : std::uint8_t {
  Private,         ///< Anonymous, private: the heap, new, malloc. Copied on write after a fork.
  SharedAnonymous, ///< mmap with MAP_SHARED | MAP_ANONYMOUS, System V shared memory.
  Memfd,           ///< A memfd, or POSIX shared memory.
  HugePages,       ///< Pages of the hugetlb pool.
  PrivateFile,     ///< A file mapped privately: copied on write.
  SharedFile,      ///< A file of a disk: the page cache, written back at any time.
  Device,          ///< A device driver's mapping: a BAR, a dma-buf, VRAM. It may have no pages to pin.
  Mixed,           ///< The range spans mappings of several kinds.
  Gpu,             ///< A GPU's memory, allocated by itself: cuMemAlloc, cudaMalloc.
  GpuVirtual,      ///< A GPU's memory that virtual memory management has mapped: cuMemCreate.
  GpuPool,         ///< A GPU's memory out of a pool: cuMemAllocAsync, cudaMallocAsync.
  Managed,         ///< Moves between the host and GPUs: cuMemAllocManaged, cudaMallocManaged.
  PinnedHost,      ///< Host memory that a GPU's driver has pinned, or allocated pinned: cuMemHostRegister.
};

/// "private", "shared-anonymous", "memfd", "huge-pages", "private-file", "shared-file", "device", "mixed",
/// "gpu", "gpu-virtual", "gpu-pool", "managed", "pinned-host".
RDMAGPU_API const char* name(MemoryKind) noexcept;

/// What a GPU's driver says of memory that it knows, whoever allocated it.
struct GpuMemoryFacts {
  RdmaGpuApi api{};     ///< Whose driver.
  std::string device{}; ///< The GPU that it is on, or was pinned for: its name.
  std::int32_t ordinal{};
  std::optional<PciAddress> pci{};
  std::uint64_t allocation{};      ///< Where the allocation starts that the range lies in; a slot or a tensor
                                   ///< may be a part of it.
  std::uint64_t allocationBytes{}; ///< GpuVirtual: of all mappings that the range lies in.
  std::uint64_t mappingBytes{}; ///< What is mapped as one where the range starts; other allocations may lie
                                ///< there too. 0: the driver is too old to say.
  Answer rdmaCapable{};         ///< Whether it lets peers reach it. Of host memory it says No, which does not
                                ///< concern a peer that pins the pages itself.
  Answer exportable{};          ///< Whether a dma-buf of its pages can be tried. Yes proves nothing: memory
                                ///< is exported too that no peer may reach.
  Answer syncMemops{};          ///< Whether synchronous copies end before they return (SYNC_MEMOPS).
};

/// What memory that somebody else allocated is, and whether a peer could use it. Of a GPU's memory the fields
/// on pages are empty: `gpu` has what there is to know.
struct MemoryFacts {
  MemoryKind kind{};
  std::string mapping{};   ///< What the kernel calls it: a path, "/memfd:name", "[heap]"; may be empty.
  std::size_t pageBytes{}; ///< The kernel's page size there.
  bool readable{};         ///< By the CPU.
  bool writable{};
  bool aligned64K{};           ///< Starts on a 64 KiB boundary.
  std::size_t residentBytes{}; ///< In memory now, counted in whole pages.
  std::size_t lockedBytes{};   ///< In a locked mapping, counted in whole pages.
  bool copiedOnFork{}; ///< After a fork a write moves this process to another page while a peer keeps the old
                       ///< one.
  Answer peerUsable{}; ///< Whether a peer's driver can pin it; Unknown when only trying would tell.
  std::string why{};   ///< The reason for that answer, in a sentence.
  std::optional<GpuMemoryFacts> gpu{}; ///< Empty: no GPU's driver knows the range.
};

/// Looks at [pointer, pointer + size) without touching it. The memory must not be unmapped or freed
/// meanwhile. A range that is not wholly mapped is an Error, as are a null pointer and size 0, and one that
/// passes the end of an allocation on a GPU.
///
/// The pointer may be a GPU's, such as a CUdeviceptr. A GPU's driver is asked only where this process uses it
/// already: none is loaded or initialised, no context is made, and the caller's stays current. After it was
/// shut down, what is not mapped for the CPU is Lost: it may have been the GPU's.
RDMAGPU_API Result<MemoryFacts> inspect(const void* pointer, std::size_t size);

} // namespace rdmagpu
