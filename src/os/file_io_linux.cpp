#include <base/library_error.hpp>
#include <os/calls_linux.hpp>
#include <os/file_io.hpp>

#include <linux/fs.h>
#include <string>
#include <utility>

namespace rdmagpu::os {
namespace {

/// Another open file of what that descriptor is of: not only another descriptor, whose flags would be shared.
std::string reopenPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

Error after(Error error, std::size_t moved) noexcept {
  error.available = moved;
  return error;
}

template <class Call, class Byte>
Result<std::size_t> move(const Call& call, int fd, Byte* memory, std::size_t bytes, std::uint64_t offset,
                         bool direct) {
  std::size_t done = 0;
  while(done < bytes) {
    const ssize_t moved = call(fd, memory + done, bytes - done, static_cast<off_t>(offset + done));
    if(moved < 0 && errno == EINTR)
      continue;
    if(moved < 0)
      return after(call.refusal(bytes), done);
    done += static_cast<std::size_t>(moved);
    if(moved == 0 || (direct && done % directBlock != 0)) // past a part of a block there is nothing
      break;
  }
  return done;
}

} // namespace

Result<void> FileIo::examine(const char* call, int fd) {
  struct stat status {};
  if(call::fstat(fd, &status) != 0)
    return call::fstat.refusal();
  if(!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
    return libraryError(call, LibraryCode::NotBlock);
  m_isDevice = S_ISBLK(status.st_mode);
  return {};
}

Result<FileIo> FileIo::open(const char* call, const std::string& path, Access access) {
  // Looked at before it is opened: opening a FIFO waits, and a terminal or a tape may be changed by it.
  const Fd there{call::open(path.c_str(), O_PATH | O_CLOEXEC)};
  if(!there)
    return call::open.refusal();
  FileIo file;
  if(const auto fit = file.examine(call, there.get()); !fit)
    return fit.error();
  file.m_writable = access == Access::Write;
  const int flags = (file.m_writable ? O_RDWR : O_RDONLY) | O_CLOEXEC;
  Fd cached{call::open(reopenPath(there.get()).c_str(), flags)};
  if(!cached)
    return call::open.refusal();
  auto kept = aboveStandard(std::move(cached));
  if(!kept)
    return kept.error();
  file.m_cached = *std::move(kept);
  Fd direct{call::openDirect(reopenPath(there.get()).c_str(), flags | O_DIRECT)};
  if(!direct) {
    file.m_directError = call::openDirect.refusal();
    return file;
  }
  kept = aboveStandard(std::move(direct));
  if(!kept)
    return kept.error();
  file.m_direct = *std::move(kept);
  return file;
}

Result<FileIo> FileIo::of(const char* call, int fd) {
  FileIo file;
  auto own = duplicate(fd);
  if(!own)
    return own.error();
  if(const auto fit = file.examine(call, own->get()); !fit)
    return fit.error();
  const int flags = call::fcntl(own->get(), F_GETFL);
  if(flags < 0)
    return call::fcntl.refusal();
  if((flags & O_APPEND) != 0)
    return libraryError(call, LibraryCode::FileAppends);
  const int access = flags & O_ACCMODE;
  file.m_writable = access != O_RDONLY;
  const bool isDirect = (flags & O_DIRECT) != 0;
  const std::string again = reopenPath(own->get());
  const int wanted = access | O_CLOEXEC | (isDirect ? 0 : O_DIRECT);
  Fd other{isDirect ? call::open(again.c_str(), wanted) : call::openDirect(again.c_str(), wanted)};
  if(!other && !isDirect)
    file.m_directError = call::openDirect.refusal();
  auto kept = other ? aboveStandard(std::move(other)) : Result<Fd>{Fd{}};
  if(!kept)
    return kept.error();
  file.m_direct = *std::move(own);
  file.m_cached = *std::move(kept);
  if(!isDirect)
    std::swap(file.m_direct, file.m_cached);
  return file;
}

Result<std::size_t> FileIo::read(Way way, std::uint64_t offset, void* to, std::size_t bytes) const {
  auto* const memory = static_cast<std::byte*>(to);
  if(way == Way::Direct)
    return move(call::readDirect, m_direct.get(), memory, bytes, offset, true);
  return move(call::readAt, m_cached.get(), memory, bytes, offset, false);
}

Result<std::size_t> FileIo::write(Way way, std::uint64_t offset, const void* from, std::size_t bytes) const {
  const auto* const memory = static_cast<const std::byte*>(from);
  const bool direct = way == Way::Direct;
  const char* const name = direct ? call::writeDirect.name() : call::writeAt.name();
  const auto moved = direct ? move(call::writeDirect, m_direct.get(), memory, bytes, offset, false)
                            : move(call::writeAt, m_cached.get(), memory, bytes, offset, false);
  if(moved && *moved < bytes)
    return libraryError(name, LibraryCode::BlockEnded, bytes, *moved);
  return moved;
}

Result<std::uint64_t> FileIo::size() const {
  if(m_isDevice) {
    std::uint64_t bytes{};
    if(call::blockDeviceBytes(best(), BLKGETSIZE64, &bytes) != 0)
      return call::blockDeviceBytes.refusal();
    return bytes;
  }
  struct stat status {};
  if(call::fstat(best(), &status) != 0)
    return call::fstat.refusal();
  return static_cast<std::uint64_t>(status.st_size);
}

} // namespace rdmagpu::os
