#include <base/guarded.hpp>
#include <rdmagpu/cufile.hpp>
#include <storage/file.hpp>
#include <storage/registration.hpp>

#include <utility>

namespace rdmagpu {

const char* name(StoragePath path) noexcept {
  switch(path) {
  case StoragePath::Direct:
    return "direct";
  case StoragePath::PeerToPeer:
    return "peer-to-peer";
  case StoragePath::Undecided:
    return "undecided";
  case StoragePath::Compatibility:
    return "compatibility";
  case StoragePath::HostSlot:
    return "host-slot";
  case StoragePath::PageCache:
    return "page-cache";
  }
  return "?";
}

Answer isDirect(StoragePath path) noexcept {
  switch(path) {
  case StoragePath::Direct:
  case StoragePath::PeerToPeer:
    return Answer::Yes;
  case StoragePath::Undecided:
    return Answer::Unknown;
  case StoragePath::Compatibility:
  case StoragePath::HostSlot:
  case StoragePath::PageCache:
    return Answer::No;
  }
  return Answer::Unknown;
}

CuFileRegistration::CuFileRegistration() noexcept = default;
CuFileRegistration::~CuFileRegistration() = default;
CuFileRegistration::CuFileRegistration(CuFileRegistration&&) noexcept = default;
CuFileRegistration& CuFileRegistration::operator=(CuFileRegistration&&) noexcept = default;

Result<CuFileRegistration> CuFileRegistration::make(const RdmaGpuBuffer& buffer,
                                                    const CuFileOptions& options) {
  return guarded("CuFileRegistration::make", [&]() -> Result<CuFileRegistration> {
    auto state = storage::Registration::make(buffer, options);
    if(!state)
      return state.error();
    CuFileRegistration made;
    made.m_state = *std::move(state);
    return made;
  });
}

StoragePath CuFileRegistration::path() const noexcept { return m_state ? m_state->path() : StoragePath{}; }
Error CuFileRegistration::reason() const noexcept { return m_state ? m_state->reason() : Error{}; }
CuFileFacts CuFileRegistration::facts() const noexcept { return m_state ? m_state->facts() : CuFileFacts{}; }

Result<void> CuFileRegistration::deregister() noexcept {
  if(!m_state)
    return {};
  if(const auto done = m_state->deregister(); !done)
    return done;
  m_state.reset();
  return {};
}

CuFile::CuFile() noexcept = default;
CuFile::~CuFile() = default;
CuFile::CuFile(CuFile&&) noexcept = default;
CuFile& CuFile::operator=(CuFile&&) noexcept = default;

namespace {

Result<std::unique_ptr<storage::File>>
fileOf(const char* call, const std::shared_ptr<storage::Registration>& registration, Result<os::FileIo> io) {
  if(!io)
    return io.error();
  if(const auto own = registration->checkProcess(call); !own)
    return own.error();
  if(!registration->use().owns_lock())
    return libraryError(call, LibraryCode::CuFileDeregistered);
  return storage::File::make(registration, *std::move(io));
}

} // namespace

Result<CuFile> CuFile::open(const CuFileRegistration& registration, const std::string& path,
                            FileAccess access) {
  constexpr const char* call = "CuFile::open";
  return guarded(call, [&]() -> Result<CuFile> {
    if(!registration.valid())
      return libraryError(call, LibraryCode::CuFileDeregistered);
    using Access = os::FileIo::Access;
    auto io = os::FileIo::open(call, path, access == FileAccess::Write ? Access::Write : Access::Read);
    auto file = fileOf(call, registration.m_state, std::move(io));
    if(!file)
      return file.error();
    CuFile made;
    made.m_file = *std::move(file);
    return made;
  });
}

Result<CuFile> CuFile::of(const CuFileRegistration& registration, int fd) {
  constexpr const char* call = "CuFile::of";
  return guarded(call, [&]() -> Result<CuFile> {
    if(!registration.valid())
      return libraryError(call, LibraryCode::CuFileDeregistered);
    auto file = fileOf(call, registration.m_state, os::FileIo::of(call, fd));
    if(!file)
      return file.error();
    CuFile made;
    made.m_file = *std::move(file);
    return made;
  });
}

StoragePath CuFile::path() const noexcept { return m_file ? m_file->path() : StoragePath{}; }
Error CuFile::reason() const noexcept { return m_file ? m_file->reason() : Error{}; }

Result<std::uint64_t> CuFile::size() const {
  if(!m_file)
    return libraryError("CuFile::size", LibraryCode::CuFileDeregistered);
  return m_file->io().size();
}

Result<FileTransfer> CuFile::read(std::size_t slot, std::size_t bytes, std::uint64_t fileOffset,
                                  std::size_t slotOffset) const {
  constexpr const char* call = "CuFile::read";
  if(!m_file)
    return libraryError(call, LibraryCode::CuFileDeregistered);
  return guarded(call, [&] {
    return m_file->move({.call = call,
                         .direction = storage::File::Direction::Read,
                         .slot = slot,
                         .slotOffset = slotOffset,
                         .bytes = bytes,
                         .fileOffset = fileOffset});
  });
}

Result<FileTransfer> CuFile::write(std::size_t slot, std::size_t bytes, std::uint64_t fileOffset,
                                   std::size_t slotOffset) const {
  constexpr const char* call = "CuFile::write";
  if(!m_file)
    return libraryError(call, LibraryCode::CuFileDeregistered);
  return guarded(call, [&] {
    return m_file->move({.call = call,
                         .direction = storage::File::Direction::Write,
                         .slot = slot,
                         .slotOffset = slotOffset,
                         .bytes = bytes,
                         .fileOffset = fileOffset});
  });
}

} // namespace rdmagpu
