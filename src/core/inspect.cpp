#include <backend/registry.hpp>
#include <base/align.hpp>
#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <os/host_pages.hpp>
#include <os/memory_map.hpp>
#include <os/process.hpp>
#include <rdmagpu/inspect.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace rdmagpu {

const char* name(MemoryKind kind) noexcept {
  switch(kind) {
  case MemoryKind::Private:
    return "private";
  case MemoryKind::SharedAnonymous:
    return "shared-anonymous";
  case MemoryKind::Memfd:
    return "memfd";
  case MemoryKind::HugePages:
    return "huge-pages";
  case MemoryKind::PrivateFile:
    return "private-file";
  case MemoryKind::SharedFile:
    return "shared-file";
  case MemoryKind::Device:
    return "device";
  case MemoryKind::Mixed:
    return "mixed";
  case MemoryKind::Gpu:
    return "gpu";
  case MemoryKind::GpuVirtual:
    return "gpu-virtual";
  case MemoryKind::GpuPool:
    return "gpu-pool";
  case MemoryKind::Managed:
    return "managed";
  case MemoryKind::PinnedHost:
    return "pinned-host";
  }
  return "?";
}

namespace {

MemoryKind kindOf(const os::MemoryMapEntry& entry) noexcept {
  const std::string_view path = entry.path;
  if(entry.huge)
    return MemoryKind::HugePages;
  if(entry.device || path.starts_with("/dmabuf:") || path == "[vvar]" || path == "[vsyscall]")
    return MemoryKind::Device;
  if(path.starts_with("/memfd:") || path.starts_with("/dev/shm/"))
    return entry.shared ? MemoryKind::Memfd : MemoryKind::PrivateFile;
  if(path.starts_with("/SYSV") || path.starts_with("/dev/zero"))
    return MemoryKind::SharedAnonymous;
  if(path.starts_with("/dev/"))
    return MemoryKind::Device;
  if(entry.inode == 0)
    return entry.shared ? MemoryKind::SharedAnonymous : MemoryKind::Private;
  return entry.shared ? MemoryKind::SharedFile : MemoryKind::PrivateFile;
}

/// The rule by which a peer's driver can or cannot pin such pages (pin_user_pages with FOLL_LONGTERM).
void judge(MemoryFacts& facts) {
  switch(facts.kind) {
  case MemoryKind::Private:
  case MemoryKind::PrivateFile:
    facts.peerUsable = facts.writable ? Answer::Yes : Answer::No;
    facts.why = facts.writable && !os::forks ? "ordinary pages can be pinned and written"
                : facts.writable
                    ? "ordinary pages can be pinned, but a fork with a write to them separates this process "
                      "from what the peer uses: MADV_DONTFORK, or shared memory, avoids that"
                    : "a peer needs writable pages: pinning a private read-only mapping would copy it";
    break;
  case MemoryKind::SharedAnonymous:
  case MemoryKind::Memfd:
  case MemoryKind::HugePages:
    facts.peerUsable = facts.readable || facts.writable ? Answer::Yes : Answer::No;
    facts.why = facts.writable ? "shared memory pages can be pinned and written"
                : facts.readable
                    ? "shared memory pages can be pinned; mapped read-only they serve for playout only"
                    : "the range is mapped without access";
    break;
  case MemoryKind::SharedFile:
    facts.peerUsable = Answer::No;
    facts.why = "pages of a file on disk are not pinned for long: the kernel writes them back while a peer "
                "changes them";
    break;
  case MemoryKind::Device:
    facts.peerUsable = Answer::Unknown;
    facts.why =
        "a device's own memory has no pages to pin; whether a peer reaches it another way, only trying tells";
    break;
  case MemoryKind::Mixed:
    facts.peerUsable = Answer::Unknown;
    facts.why = "the range spans mappings of different kinds: look at each by itself";
    break;
  case MemoryKind::Gpu:
  case MemoryKind::GpuVirtual:
  case MemoryKind::GpuPool:
  case MemoryKind::Managed:
  case MemoryKind::PinnedHost:
    break; // a backend has judged it
  }
}

bool coversWithoutGap(const std::vector<os::MemoryMapEntry>& entries, std::uintptr_t begin,
                      std::uintptr_t end) noexcept {
  for(const os::MemoryMapEntry& entry : entries) {
    if(entry.begin > begin)
      return false;
    begin = entry.end;
  }
  return begin >= end;
}

Result<MemoryFacts> look(std::uintptr_t begin, std::uintptr_t end) {
  const auto entries = os::mappingsIn(begin, end);
  if(!entries)
    return entries.error();
  if(!coversWithoutGap(*entries, begin, end))
    return libraryError("inspect", LibraryCode::NotMapped, end - begin);

  const os::MemoryMapEntry& first = entries->front();
  MemoryFacts facts{.kind = kindOf(first),
                    .mapping = first.path,
                    .pageBytes = first.pageBytes,
                    .readable = true,
                    .writable = true,
                    .aligned64K = begin % gpuPageBytes == 0};
  for(const os::MemoryMapEntry& entry : *entries) {
    if(kindOf(entry) != facts.kind)
      facts.kind = MemoryKind::Mixed;
    facts.readable = facts.readable && entry.readable;
    facts.writable = facts.writable && entry.writable;
    facts.copiedOnFork = facts.copiedOnFork || (os::forks && !entry.shared);
    facts.pageBytes = std::min(facts.pageBytes, entry.pageBytes);
    const std::size_t page = std::max<std::size_t>(entry.pageBytes, 1);
    const std::uintptr_t from = std::max(entry.begin, begin / page * page);
    const std::uintptr_t to = std::min<std::uintptr_t>(entry.end, (end + page - 1) / page * page);
    facts.lockedBytes += entry.locked ? to - from : 0;
  }
  const std::size_t page = os::pageBytes();
  const auto resident = os::residentBytes(begin / page * page, end - begin / page * page);
  if(!resident)
    return resident.error();
  facts.residentBytes = *resident;
  judge(facts);
  return facts;
}

/// What the first backend that knows the memory says of it; nullopt when none does.
Result<std::optional<MemoryFacts>> askDrivers(std::uintptr_t begin, std::size_t size) {
  for(const backend::Backend* backend : backend::all()) {
    auto told = backend->inspect(begin, size);
    if(!told || *told)
      return told;
  }
  return std::optional<MemoryFacts>{};
}

/// Whether a driver of this process has ended, and knows nothing any more: then memory may have been its own.
bool isShutDown(const Error& error) noexcept {
  return error.kind == Errc::Lost && std::string_view{error.finding} == "driver-shut-down";
}

Result<MemoryFacts> lookAndAsk(std::uintptr_t begin, std::size_t size) {
  auto told = askDrivers(begin, size);
  if(!told && isShutDown(told.error())) {
    auto facts = look(begin, begin + size);
    return facts ? facts : told.error();
  }
  if(!told)
    return told.error();
  if(*told && (*told)->kind != MemoryKind::PinnedHost) {
    (*told)->aligned64K = begin % gpuPageBytes == 0;
    return **std::move(told);
  }
  auto facts = look(begin, begin + size);
  if(facts && *told) {
    facts->kind = MemoryKind::PinnedHost; // its pages are as the kernel says
    facts->gpu = std::move((*told)->gpu);
  }
  return facts;
}

} // namespace

Result<MemoryFacts> inspect(const void* pointer, std::size_t size) {
  constexpr const char* call = "inspect";
  return guarded(call, [&]() -> Result<MemoryFacts> {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer); // compared with the kernel's numbers
    if(!pointer || size == 0 || begin + size < begin)
      return libraryError(call, LibraryCode::NotMapped, size);
    return lookAndAsk(begin, size);
  });
}

} // namespace rdmagpu
