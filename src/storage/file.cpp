#include <base/library_error.hpp>
#include <storage/file.hpp>

#include <cerrno>
#include <limits>
#include <utility>

namespace rdmagpu::storage {
namespace {

bool isAligned(const File::Transfer& transfer) noexcept {
  return (transfer.fileOffset | transfer.slotOffset | transfer.bytes) % os::directBlock == 0;
}

} // namespace

File::File(std::shared_ptr<const Registration> registration, os::FileIo io) noexcept
    : m_registration(std::move(registration)), m_io(std::move(io)) {}

File::~File() {
  if(m_handle && m_registration->checkProcess("") && m_registration->cuFile())
    m_registration->cuFile()->handleDeregister(m_handle);
}

Result<std::unique_ptr<File>> File::make(std::shared_ptr<const Registration> registration, os::FileIo io) {
  auto file = std::make_unique<File>(std::move(registration), std::move(io));
  const Registration& of = *file->m_registration;
  if(of.slot(0).cpu) {
    file->m_path = file->m_io.hasDirect() ? StoragePath::Direct : StoragePath::PageCache;
    file->m_reason = file->m_io.directError();
    return file;
  }
  file->m_path = of.path();
  file->m_reason = of.reason();
  if(of.cuFile()) {
    const auto known = file->registerHandle();
    if(known)
      return file;
    if(of.required())
      return known.error();
    file->m_path = StoragePath::HostSlot;
    file->m_reason = known.error();
  }
  const auto staging = of.staging();
  if(!staging)
    return staging.error();
  file->m_staging = *staging;
  return file;
}

Result<void> File::registerHandle() {
  const api::Functions& functions = *m_registration->cuFile();
  api::Descriptor descriptor{};
  descriptor.fd = m_io.best();
  api::Handle handle{};
  api::Handle* const target = &handle;
  api::Descriptor* const source = &descriptor;
  auto body = [&] { return functions.call(0, functions.handleRegister, target, source); };
  const auto known = m_registration->region().runCurrent(body);
  if(known)
    m_handle = handle;
  return known;
}

Result<void> File::check(const Transfer& t) const noexcept {
  if(t.slot >= m_registration->slotCount())
    return libraryError(t.call, LibraryCode::SlotOutOfRange, t.slot, m_registration->slotCount());
  const std::size_t room = m_registration->slot(t.slot).bytes;
  if(t.slotOffset > room || t.bytes > room - t.slotOffset)
    return libraryError(t.call, LibraryCode::RangeOutOfSlot, t.bytes, room);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if(t.fileOffset > most || t.bytes > most - t.fileOffset)
    return libraryError(t.call, LibraryCode::FileOffset, t.fileOffset);
  if(t.direction == Direction::Write && !m_io.writable())
    return libraryError(t.call, LibraryCode::FileReadOnly);
  return m_registration->checkProcess(t.call);
}

Result<FileTransfer> File::move(const Transfer& t) const {
  if(const auto fit = check(t); !fit)
    return fit.error();
  const auto used = m_registration->use();
  if(!used.owns_lock())
    return libraryError(t.call, LibraryCode::CuFileDeregistered);
  const SlotPlace& slot = m_registration->slot(t.slot);
  auto moved = slot.cpu ? moveOnCpu(t, slot) : m_staging ? moveStaged(t, slot) : moveByCuFile(t, slot);
  if(moved)
    return moved;
  Error error = moved.error();
  error.slot = static_cast<std::int32_t>(t.slot);
  return error;
}

Result<FileTransfer> File::moveOnCpu(const Transfer& t, const SlotPlace& slot) const {
  using Way = os::FileIo::Way;
  const Way way = m_io.hasDirect() && isAligned(t) ? Way::Direct : Way::Cached;
  if(way == Way::Cached && !m_io.hasCached())
    return libraryError(t.call, LibraryCode::FileUnaligned, t.bytes);
  std::byte* const memory = slot.cpu + t.slotOffset;
  const auto moved = t.direction == Direction::Read ? m_io.read(way, t.fileOffset, memory, t.bytes)
                                                    : m_io.write(way, t.fileOffset, memory, t.bytes);
  if(!moved)
    return moved.error();
  return FileTransfer{.bytes = *moved,
                      .path = way == Way::Direct ? StoragePath::Direct : StoragePath::PageCache};
}

Result<FileTransfer> File::moveStaged(const Transfer& t, const SlotPlace& slot) const {
  const std::size_t at = slot.offset + t.slotOffset;
  const auto moved = t.direction == Direction::Read ? m_staging->read(m_io, t.fileOffset, at, t.bytes)
                                                    : m_staging->write(m_io, t.fileOffset, at, t.bytes);
  if(!moved)
    return moved.error();
  return FileTransfer{.bytes = *moved, .path = StoragePath::HostSlot};
}

Result<FileTransfer> File::moveByCuFile(const Transfer& t, const SlotPlace& slot) const {
  const api::Functions& functions = *m_registration->cuFile();
  void* const base = m_registration->base();
  const bool reads = t.direction == Direction::Read;
  const char* const symbol = reads ? functions.read.symbol() : functions.write.symbol();
  std::size_t done = 0;
  auto body = [&]() -> Result<void> {
    while(done < t.bytes) {
      const auto from = static_cast<std::int64_t>(t.fileOffset + done);
      const auto at = static_cast<std::int64_t>(slot.offset + t.slotOffset + done);
      errno = 0;
      const api::Moved moved = reads ? functions.read(m_handle, base, t.bytes - done, from, at)
                                     : functions.write(m_handle, base, t.bytes - done, from, at);
      const auto count = static_cast<std::int64_t>(moved);
      if(count < 0)
        return api::failureOf(symbol, moved, errno, t.bytes);
      if(count == 0)
        break;
      done += static_cast<std::size_t>(count);
    }
    return {};
  };
  const backend::Region& region = m_registration->region();
  auto ended = region.runCurrent(body);
  if(ended && !reads && done < t.bytes)
    ended = libraryError(symbol, LibraryCode::BlockEnded, t.bytes, done);
  if(ended && reads && m_path != StoragePath::Compatibility)
    ended = region.flushPeerWrites();
  if(ended)
    return FileTransfer{.bytes = done, .path = m_path};
  Error error = ended.error();
  error.available = done;
  return error;
}

} // namespace rdmagpu::storage
