#include "frames/frame_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rdmagpu::cli {

FrameWriter::FrameWriter(FileDescriptor fd, std::string name, StopFlag stop)
    : m_fd(std::move(fd)), m_name(std::move(name)), m_stop(stop) {}

Expected<FrameWriter> FrameWriter::open(const std::string& path, std::optional<FileId> input, StopFlag stop) {
  const bool standardOutput = path == "-";
  // Not O_TRUNC: the file may turn out to be the input.
  auto fd = standardOutput ? Expected(FileDescriptor::borrow(STDOUT_FILENO))
                           : openFile(path, O_WRONLY | O_CREAT, stop);
  if(!fd)
    return fd.error();
  FrameWriter writer(std::move(*fd), standardOutput ? "standard output" : path, stop);
  const auto status = fileStatus(writer.m_fd.get(), writer.m_name);
  if(!status)
    return status.error();
  writer.m_regular = status->regular;
  if(input && *input == status->id)
    return InputError{InputErrorKind::Contradiction,
                      fmt::format("{}: is the input file itself: --out must name another", writer.m_name)};
  // What standard output already holds is the shell's business: >> appends.
  if(writer.m_regular && !standardOutput && ::ftruncate(writer.m_fd.get(), 0) != 0)
    return osError(writer.m_name, "cannot be emptied", errno);
  return writer;
}

InputError FrameWriter::failure(int code) const {
  return osError(m_name, fmt::format("frame {} cannot be written", m_written), code);
}

Expected<void> FrameWriter::write(std::span<const std::byte> frame) {
  while(!frame.empty()) {
    std::size_t most = frame.size();
    if(!m_regular) {
      // A pipe that poll() calls writable takes PIPE_BUF bytes without waiting, and no more is promised.
      waitReady(m_fd.get(), POLLOUT, m_stop);
      most = std::min<std::size_t>(most, PIPE_BUF);
    }
    if(stopAsked(m_stop))
      return interrupted(m_name);
    const ssize_t done = ::write(m_fd.get(), frame.data(), most);
    if(done >= 0)
      frame = frame.subspan(static_cast<std::size_t>(done));
    else if(errno != EINTR && errno != EAGAIN)
      return failure(errno);
  }
  ++m_written;
  return {};
}

Expected<void> FrameWriter::finish() {
  const int synced = m_regular ? ::fsync(m_fd.get()) : 0;
  const int syncError = errno;
  const int closed = m_fd.close();
  if(synced != 0)
    return osError(m_name, fmt::format("{} frames cannot be seen to the disk", m_written), syncError);
  if(closed != 0)
    return osError(m_name, fmt::format("cannot be closed after {} frames", m_written), errno);
  return {};
}

} // namespace rdmagpu::cli
