#include "frames/byte_source.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rdmagpu::cli {
namespace {

constexpr std::size_t bufferBytes = 4096;
static_assert(bufferBytes > ByteSource::maxLine);

} // namespace

ByteSource::ByteSource(FileDescriptor fd, std::string name, StopFlag stop)
    : m_fd(std::move(fd)), m_name(std::move(name)), m_stop(stop), m_buffer(bufferBytes) {}

Expected<ByteSource> ByteSource::open(const std::string& path, StopFlag stop) {
  const bool standardInput = path == "-";
  auto fd = standardInput ? Expected(FileDescriptor::borrow(STDIN_FILENO)) : openFile(path, O_RDONLY, stop);
  if(!fd)
    return fd.error();
  ByteSource source(std::move(*fd), standardInput ? "standard input" : path, stop);
  const auto status = fileStatus(source.m_fd.get(), source.m_name);
  if(!status)
    return status.error();
  if(status->directory)
    return osError(source.m_name, "cannot be read", EISDIR);
  if(status->regular) {
    const off_t start = ::lseek(source.m_fd.get(), 0, SEEK_CUR);
    if(start < 0)
      return osError(source.m_name, "cannot be read", errno);
    source.m_start = static_cast<std::uint64_t>(start);
    source.m_size = status->size - std::min(status->size, source.m_start);
    source.m_file = status->id;
  }
  return source;
}

std::string_view ByteSource::ahead() const noexcept {
  // Looking at bytes as characters is what reinterpret_cast allows.
  return {reinterpret_cast<const char*>(m_buffer.data()) + m_begin, m_end - m_begin};
}

void ByteSource::dropAhead(std::size_t count) noexcept {
  m_begin += count;
  if(m_begin == m_end)
    m_begin = m_end = 0;
}

/// One read(): 0 at the end.
Expected<std::size_t> ByteSource::readSome(std::span<std::byte> into) {
  for(;;) {
    if(!m_file)
      waitReady(m_fd.get(), POLLIN, m_stop);
    if(stopAsked(m_stop))
      return interrupted(m_name);
    const ssize_t got = ::read(m_fd.get(), into.data(), into.size());
    if(got >= 0)
      return static_cast<std::size_t>(got);
    if(errno != EINTR && errno != EAGAIN)
      return osError(m_name, "cannot be read", errno);
  }
}

/// Adds to what was read ahead; false at the end.
Expected<bool> ByteSource::readAhead() {
  if(m_begin != 0) {
    std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
    m_end -= std::exchange(m_begin, 0);
  }
  const auto got = readSome(std::span(m_buffer).subspan(m_end));
  if(!got)
    return got.error();
  m_end += *got;
  return *got != 0;
}

Expected<std::string_view> ByteSource::peek(std::size_t count) {
  while(ahead().size() < count) {
    const auto more = readAhead();
    if(!more)
      return more.error();
    if(!*more)
      break;
  }
  return ahead().substr(0, count);
}

Expected<std::size_t> ByteSource::read(std::span<std::byte> into) {
  std::size_t done = std::min(into.size(), m_end - m_begin);
  if(done != 0)
    std::memcpy(into.data(), m_buffer.data() + m_begin, done);
  dropAhead(done);
  while(done < into.size()) {
    const auto got = readSome(into.subspan(done));
    if(!got)
      return got.error();
    if(*got == 0)
      break;
    done += *got;
  }
  return done;
}

Expected<ByteSource::Line> ByteSource::readLine() {
  for(;;) {
    const std::string_view text = ahead().substr(0, maxLine + 1);
    if(const std::size_t length = text.find('\n'); length != std::string_view::npos) {
      dropAhead(length + 1);
      return Line{text.substr(0, length), LineEnd::Newline};
    }
    if(text.size() > maxLine)
      return Line{text, LineEnd::TooLong};
    const auto more = readAhead();
    if(!more)
      return more.error();
    if(!*more)
      return Line{ahead(), LineEnd::EndOfInput};
  }
}

Expected<void> ByteSource::rewind(std::uint64_t offset) {
  if(!m_file)
    return InputError{InputErrorKind::Unsupported,
                      m_name + ": cannot be started again: that needs a regular file, not a pipe or device"};
  if(::lseek(m_fd.get(), static_cast<off_t>(m_start + offset), SEEK_SET) < 0)
    return osError(m_name, "cannot be started again", errno);
  m_begin = m_end = 0;
  return {};
}

} // namespace rdmagpu::cli
