#include <base/align.hpp>
#include <base/library_error.hpp>
#include <os/calls_windows.hpp>
#include <os/host_pages.hpp>
#include <os/numa.hpp>
#include <os/populate.hpp>

#include <algorithm>
#include <utility>

namespace rdmagpu::os {
namespace {

SYSTEM_INFO systemInfo() noexcept {
  SYSTEM_INFO info{};
  ::GetSystemInfo(&info);
  return info;
}

/// Large pages are for accounts that may lock pages, and only once the process has switched that on.
/// Source: Microsoft, "Large-Page Support".
Result<void> allowLargePages() {
  HANDLE token{};
  if(!call::openProcessToken(::GetCurrentProcess(), DWORD{TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY}, &token))
    return call::openProcessToken.refusal();
  const Fd owned{fdOf(token)};
  TOKEN_PRIVILEGES wanted{.PrivilegeCount = 1,
                          .Privileges = {{.Luid = {}, .Attributes = SE_PRIVILEGE_ENABLED}}};
  if(!call::lookupPrivilege(nullptr, L"SeLockMemoryPrivilege", &wanted.Privileges[0].Luid))
    return call::lookupPrivilege.refusal();
  // It succeeds, too, where the account has no such privilege: the last error alone tells.
  if(!call::adjustPrivileges(token, FALSE, &wanted, DWORD{0}, nullptr, nullptr) ||
     ::GetLastError() != ERROR_SUCCESS)
    return call::adjustPrivileges.refusal();
  return {};
}

/// Memory of the paging file that another process can map, too.
Result<Fd> makeSection(std::size_t bytes, Mapping::Pages pages, int node) {
  constexpr DWORD largePages = 0x80000000; // SEC_LARGE_PAGES, which mingw-w64 10 has not
  const DWORD protection = PAGE_READWRITE | SEC_COMMIT | (pages == Mapping::Pages::Huge ? largePages : 0U);
  const DWORD preferred = node < 0 ? NUMA_NO_PREFERRED_NODE : static_cast<DWORD>(node);
  const std::uint64_t size = bytes;
  HANDLE section =
      call::createFileMapping(INVALID_HANDLE_VALUE, nullptr, protection, static_cast<DWORD>(size >> 32U),
                              static_cast<DWORD>(size & 0xffffffffU), nullptr, preferred);
  if(!section)
    return call::createFileMapping.refusal(bytes);
  return Fd{fdOf(section)};
}

/// What a process may lock is bounded by its working set, which it may enlarge.
/// Source: Microsoft, VirtualLock: "the maximum number of pages that a process can lock is equal to the
/// number of pages in its minimum working set minus a small overhead".
bool enlargeWorkingSet(std::size_t bytes) noexcept {
  SIZE_T least{};
  SIZE_T most{};
  constexpr SIZE_T overhead = 1U << 20;
  return call::getWorkingSet(::GetCurrentProcess(), &least, &most) &&
         call::setWorkingSet(::GetCurrentProcess(), least + bytes + overhead,
                             std::max(most, least + bytes + 2 * overhead) + bytes);
}

bool lockPages(std::byte* data, std::size_t bytes) noexcept {
  return call::virtualLock(data, bytes) || (::GetLastError() == ERROR_WORKING_SET_QUOTA &&
                                            enlargeWorkingSet(bytes) && call::virtualLock(data, bytes));
}

bool hasNode(int node) noexcept {
  ULONG highest{};
  return node >= 0 && (!call::highestNode(&highest) || static_cast<ULONG>(node) <= highest);
}

} // namespace

std::size_t pageBytes() noexcept { return systemInfo().dwPageSize; }

Result<void> HostPages::open(const HostPagesRequest& request, std::size_t bytes, Mapping::Pages pages) {
  const int wanted = request.options.numaNode;
  const int node = wanted >= 0 ? wanted : request.peerNode >= 0 ? request.peerNode : currentNode();
  if(!request.options.forbidMemfd) {
    auto section = makeSection(bytes, pages, node);
    if(!section)
      return section.error();
    m_fd = *std::move(section);
  }
  auto mapping = Mapping::make(m_fd.get(), bytes, gpuPageBytes, pages, node);
  if(!mapping)
    return mapping.error();
  m_mapping = *std::move(mapping);
  m_huge = pages == Mapping::Pages::Huge;
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
  if(lock == PageLock::Off || m_huge) // large pages are never paged out
    return {};
  m_locked = lockPages(data(), size());
  if(m_locked)
    return {};
  m_lockError = call::virtualLock.refusal(size());
  if(lock == PageLock::Require)
    return m_lockError;
  return {};
}

Result<HostPages> HostPages::acquire(const HostPagesRequest& request, Mapping::Pages pages) {
  const bool huge = pages == Mapping::Pages::Huge;
  const auto bytes = huge ? roundUp(request.bytes, hugePageBytes) : request.bytes;
  if(!bytes)
    return libraryError("VirtualAlloc", LibraryCode::SizeOverflow, request.bytes);
  if(huge) {
    if(const auto allowed = allowLargePages(); !allowed)
      return allowed.error();
  }
  const int wanted = request.options.numaNode;
  if(wanted != -1 && !hasNode(wanted))
    return libraryError("VirtualAllocExNuma", LibraryCode::NodeOutOfRange,
                        static_cast<std::uint64_t>(wanted));
  HostPages memory;
  if(const auto opened = memory.open(request, *bytes, pages); !opened)
    return opened.error();
  if(const auto settled = memory.settle(request.options.lock); !settled)
    return settled.error();
  // Windows takes a node as a preference; one that was asked for must be had.
  if(wanted >= 0 && memory.m_node >= 0 && memory.m_node != wanted)
    return libraryError("VirtualAllocExNuma", LibraryCode::PlatformLacks, static_cast<std::uint64_t>(wanted),
                        static_cast<std::uint64_t>(memory.m_node));
  return memory;
}

Result<HostPages> HostPages::adopt(Fd section, std::size_t bytes, PageLock lock) {
  HostPages memory;
  memory.m_fd = std::move(section);
  // A section cannot shrink, and one that is smaller cannot be mapped.
  auto mapping = Mapping::make(memory.m_fd.get(), bytes, gpuPageBytes, Mapping::Pages::Normal, -1);
  if(!mapping && mapping.error().kind == Errc::Permission)
    return libraryError("RdmaGpuBuffer::attach", LibraryCode::ShareUnsafe, bytes);
  if(!mapping)
    return mapping.error();
  memory.m_mapping = *std::move(mapping);
  if(const auto settled = memory.settle(lock); !settled)
    return settled.error();
  return memory;
}

} // namespace rdmagpu::os
