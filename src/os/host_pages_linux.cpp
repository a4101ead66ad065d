#include <base/align.hpp>
#include <base/library_error.hpp>
#include <os/calls_linux.hpp>
#include <os/host_pages.hpp>
#include <os/numa.hpp>
#include <os/populate.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rdmagpu::os {
namespace {

/// A descriptor of `bytes` of memory that can never shrink, so that no process that shares it can
/// make another's access fault. Not sealed against writing: udmabuf refuses that seal.
Result<Fd> makeMemfd(std::size_t bytes, Mapping::Pages pages) {
  // Beyond the limit on file sizes ftruncate would raise SIGXFSZ, which ends the process.
  rlimit limit{};
  if(call::getrlimit(RLIMIT_FSIZE, &limit) != 0)
    return call::getrlimit.refusal();
  if(bytes > limit.rlim_cur)
    return error(call::truncate.name(), EFBIG, bytes, limit.rlim_cur);
  const unsigned huge = pages == Mapping::Pages::Huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0U;
  Fd fd{call::memfdCreate("rdmagpu", MFD_CLOEXEC | MFD_ALLOW_SEALING | huge)};
  if(!fd)
    return call::memfdCreate.refusal(bytes);
  if(call::truncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return call::truncate.refusal(bytes);
  if(call::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return call::fcntl.refusal();
  return aboveStandard(std::move(fd));
}

std::uint64_t memlockLimit() noexcept {
  rlimit limit{};
  return call::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : 0;
}

} // namespace

std::size_t pageBytes() noexcept { return static_cast<std::size_t>(getpagesize()); }

Result<void> HostPages::open(const HostPagesRequest& request, std::size_t bytes, Mapping::Pages pages) {
  if(!request.options.forbidMemfd) {
    auto fd = makeMemfd(bytes, pages);
    if(fd)
      m_fd = *std::move(fd);
    else if(pages == Mapping::Pages::Huge)
      return fd.error();
    else
      m_tolerated.push_back(fd.error());
  }
  const std::size_t alignment =
      pages == Mapping::Pages::Huge ? hugePageBytes : std::max(gpuPageBytes, pageBytes());
  auto mapping = Mapping::make(m_fd.get(), bytes, alignment, pages);
  if(!mapping)
    return mapping.error();
  m_mapping = *std::move(mapping);
  m_huge = pages == Mapping::Pages::Huge;
  return {};
}

/// A node that was asked for must be had. Else the peer's node, or this thread's, is preferred, so
/// that the threads that populate in parallel do not scatter the pages.
Result<void> HostPages::bind(const HostPagesRequest& request) {
  if(request.options.numaNode < -1)
    return libraryError("mbind", LibraryCode::NodeOutOfRange);
  if(request.options.numaNode >= 0) {
    const auto bound = setNode(data(), size(), request.options.numaNode, NodePolicy::Bind);
    if(!bound && bound.error().code == EINVAL)
      return libraryError("mbind", LibraryCode::NodeOutOfRange,
                          static_cast<std::uint64_t>(request.options.numaNode));
    return bound;
  }
  const int node = request.peerNode >= 0 ? request.peerNode : currentNode();
  if(node >= 0) {
    const auto preferred = setNode(data(), size(), node, NodePolicy::Preferred);
    if(!preferred)
      m_tolerated.push_back(preferred.error());
  }
  return {};
}

/// Makes the pages resident and, if wanted, locks them.
Result<void> HostPages::settle(PageLock lock) {
  if(const auto populated = populate(data(), size()); !populated)
    return populated;
  const auto node = nodeOf(data());
  if(node)
    m_node = *node;
  else
    m_tolerated.push_back(node.error());
  // Huge pages of the pool are never swapped; mlock does nothing for them, and can still fail.
  if(lock == PageLock::Off || m_huge)
    return {};
  if(call::mlock(data(), size()) == 0) {
    m_locked = true;
    return {};
  }
  const int refused = errno; // memlockLimit() may change it
  m_lockError = error(call::mlock.name(), refused, size(), memlockLimit());
  if(lock == PageLock::Require)
    return m_lockError;
  return {};
}

Result<HostPages> HostPages::acquire(const HostPagesRequest& request, Mapping::Pages pages) {
  const auto bytes = pages == Mapping::Pages::Huge ? roundUp(request.bytes, hugePageBytes) : request.bytes;
  if(!bytes)
    return libraryError("mmap", LibraryCode::SizeOverflow, request.bytes);
  HostPages memory;
  if(const auto opened = memory.open(request, *bytes, pages); !opened)
    return opened.error();
  if(const auto bound = memory.bind(request); !bound)
    return bound.error();
  if(const auto settled = memory.settle(request.options.lock); !settled)
    return settled.error();
  return memory;
}

Result<HostPages> HostPages::adopt(Fd fd, std::size_t bytes, PageLock lock) {
  struct stat status {};
  if(call::fstat(fd.get(), &status) != 0)
    return call::fstat.refusal();
  const int seals = call::fcntl(fd.get(), F_GET_SEALS);
  if(seals < 0 && errno != EINVAL) // EINVAL: no memfd
    return call::fcntl.refusal();
  if(seals < 0 || !(seals & F_SEAL_SHRINK) || static_cast<std::uint64_t>(status.st_size) < bytes)
    return libraryError("RdmaGpuBuffer::attach", LibraryCode::ShareUnsafe, bytes,
                        static_cast<std::uint64_t>(status.st_size));
  HostPages memory;
  memory.m_fd = std::move(fd);
  memory.m_huge = static_cast<std::size_t>(status.st_blksize) == hugePageBytes;
  const std::size_t alignment = memory.m_huge ? hugePageBytes : std::max(gpuPageBytes, pageBytes());
  auto mapping = Mapping::make(memory.m_fd.get(), bytes, alignment, Mapping::Pages::Normal);
  if(!mapping)
    return mapping.error();
  memory.m_mapping = *std::move(mapping);
  if(const auto settled = memory.settle(lock); !settled)
    return settled.error();
  return memory;
}

} // namespace rdmagpu::os
