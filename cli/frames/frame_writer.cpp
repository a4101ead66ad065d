#include "frames/frame_writer.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace rdmagpu::cli {
namespace {

/// The same pipe or device, opened once more: what is non-blocking about it is then this process's own
/// affair, while standard output itself is shared with the shell. Empty where the system does not allow it (a
/// socket).
FileDescriptor openNonBlocking(int fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  const int own = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  return own >= 0 ? FileDescriptor::own(own) : FileDescriptor();
}

} // namespace

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
  if(!writer.m_regular)
    writer.preventBlocking();
  return writer;
}

void FrameWriter::preventBlocking() {
  if(auto own = openNonBlocking(m_fd.get()); own.get() >= 0)
    m_fd = std::move(own);
  else
    m_mostAtOnce = PIPE_BUF; // what poll() promises to be taken without waiting, and no more
}

InputError FrameWriter::failure(int code) const {
  return osError(m_name, fmt::format("frame {} cannot be written", m_written), code);
}

Expected<void> FrameWriter::write(std::span<const std::byte> frame) {
  while(!frame.empty()) {
    if(!m_regular)
      waitReady(m_fd.get(), POLLOUT, m_stop);
    if(stopAsked(m_stop))
      return interrupted(m_name);
    const ssize_t done = ::write(m_fd.get(), frame.data(), std::min(frame.size(), m_mostAtOnce));
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
    return osError(m_name, fmt::format("cannot be synced to the disk (frames written: {})", m_written),
                   syncError);
  if(closed != 0)
    return osError(m_name, fmt::format("cannot be closed (frames written: {})", m_written), errno);
  return {};
}

} // namespace rdmagpu::cli
