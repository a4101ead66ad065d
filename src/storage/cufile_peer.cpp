#include <base/guarded.hpp>
#include <os/file_io.hpp>
#include <rdmagpu/cufile_peer.hpp>

#include <optional>
#include <utility>

namespace rdmagpu {

struct CuFilePeer::Impl {
  CuFileRegistration registration;
  CuFile file;
  os::FileIo plain; ///< For the bytes' other end.
  std::string name;
  std::uint64_t size{};
  bool overwrite{};
  std::optional<StoragePath> last;

  Result<void> check(const char* call, std::size_t bytes, bool overwrites) const noexcept;
  std::uint64_t placeOf(std::uint32_t slot, std::size_t bytes) const noexcept;
  Result<void> put(std::span<const std::byte> bytes) const;
  Result<void> take(std::uint64_t from, std::span<std::byte> bytes) const;
  Result<void> note(const char* call, const Result<FileTransfer>& moved, std::size_t bytes);
};

Result<void> CuFilePeer::Impl::check(const char* call, std::size_t bytes, bool overwrites) const noexcept {
  if(overwrites && !overwrite)
    return libraryError(call, LibraryCode::BlockReadOnly);
  if(bytes > size)
    return libraryError(call, LibraryCode::BlockTooSmall, bytes, size);
  return {};
}

/// Other bytes for each slot, as far as the file has others.
std::uint64_t CuFilePeer::Impl::placeOf(std::uint32_t slot, std::size_t bytes) const noexcept {
  return bytes == 0 ? 0 : slot % (size / bytes) * bytes;
}

Result<void> CuFilePeer::Impl::put(std::span<const std::byte> bytes) const {
  const auto written = plain.write(os::FileIo::Way::Cached, 0, bytes.data(), bytes.size());
  return written ? Result<void>{} : written.error();
}

Result<void> CuFilePeer::Impl::take(std::uint64_t from, std::span<std::byte> bytes) const {
  const auto read = plain.read(os::FileIo::Way::Cached, from, bytes.data(), bytes.size());
  if(!read)
    return read.error();
  if(*read < bytes.size())
    return libraryError("pread", LibraryCode::BlockEnded, bytes.size(), *read);
  return {};
}

Result<void> CuFilePeer::Impl::note(const char* call, const Result<FileTransfer>& moved, std::size_t bytes) {
  if(!moved)
    return moved.error();
  last = moved->path;
  if(moved->bytes < bytes)
    return libraryError(call, LibraryCode::BlockEnded, bytes, moved->bytes);
  return {};
}

CuFilePeer::CuFilePeer(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
CuFilePeer::~CuFilePeer() = default;
CuFilePeer::CuFilePeer(CuFilePeer&&) noexcept = default;
CuFilePeer& CuFilePeer::operator=(CuFilePeer&&) noexcept = default;

Result<CuFilePeer> CuFilePeer::open(const RdmaGpuBuffer& buffer, const std::string& path,
                                    const CuFilePeerOptions& options) {
  constexpr const char* call = "CuFilePeer::open";
  return guarded(call, [&]() -> Result<CuFilePeer> {
    using Access = os::FileIo::Access;
    auto plain = os::FileIo::open(call, path, options.overwrite ? Access::Write : Access::Read);
    if(!plain)
      return plain.error();
    const auto size = plain->size();
    if(!size)
      return size.error();
    auto registration = CuFileRegistration::make(buffer, options.cuFile);
    if(!registration)
      return registration.error();
    auto file = CuFile::open(*registration, path, options.overwrite ? FileAccess::Write : FileAccess::Read);
    if(!file)
      return file.error();
    auto impl = std::make_unique<Impl>();
    impl->registration = *std::move(registration);
    impl->file = *std::move(file);
    impl->plain = *std::move(plain);
    impl->name = "cufile:" + path;
    impl->size = *size;
    impl->overwrite = options.overwrite;
    return CuFilePeer{std::move(impl)};
  });
}

const char* CuFilePeer::name() const noexcept { return m_impl->name.c_str(); }
StoragePath CuFilePeer::path() const noexcept { return m_impl->last.value_or(m_impl->file.path()); }
Error CuFilePeer::reason() const noexcept { return m_impl->file.reason(); }
CuFileFacts CuFilePeer::facts() const noexcept { return m_impl->registration.facts(); }
std::uint64_t CuFilePeer::size() const noexcept { return m_impl->size; }
std::uint64_t CuFilePeer::overwritten(std::size_t bytes) const noexcept {
  return m_impl->overwrite ? bytes : 0;
}
Agent CuFilePeer::agent() const noexcept {
  return path() == StoragePath::HostSlot ? Agent::CopyEngine : Agent::Software;
}

Result<void> CuFilePeer::write(std::uint32_t slot, std::span<const std::byte> bytes) {
  constexpr const char* call = "CuFilePeer::write";
  if(const auto checked = m_impl->check(call, bytes.size(), true); !checked)
    return checked;
  if(const auto put = m_impl->put(bytes); !put)
    return put;
  return m_impl->note(call, m_impl->file.read(slot, bytes.size(), 0), bytes.size());
}

Result<void> CuFilePeer::read(std::uint32_t slot, std::span<std::byte> bytes) {
  constexpr const char* call = "CuFilePeer::read";
  if(const auto checked = m_impl->check(call, bytes.size(), true); !checked)
    return checked;
  if(const auto put = m_impl->put(bytes); !put) // so that a transfer which moves nothing is seen
    return put;
  if(const auto moved = m_impl->note(call, m_impl->file.write(slot, bytes.size(), 0), bytes.size()); !moved)
    return moved;
  return m_impl->take(0, bytes);
}

Result<void> CuFilePeer::fetch(std::uint32_t slot, std::span<std::byte> bytes) {
  if(const auto checked = m_impl->check("CuFilePeer::fetch", bytes.size(), false); !checked)
    return checked;
  return m_impl->take(m_impl->placeOf(slot, bytes.size()), bytes);
}

Result<void> CuFilePeer::fill(std::uint32_t slot, std::size_t bytes) {
  constexpr const char* call = "CuFilePeer::fill";
  if(const auto checked = m_impl->check(call, bytes, false); !checked)
    return checked;
  const std::uint64_t from = m_impl->placeOf(slot, bytes);
  return m_impl->note(call, m_impl->file.read(slot, bytes, from), bytes);
}

} // namespace rdmagpu
