#include <base/log.hpp>
#include <os/calls_linux.hpp>
#include <os/fd.hpp>

namespace rdmagpu::os {

void FdTraits::close(int fd) noexcept {
  // After EINTR Linux has closed the descriptor all the same: trying again could close another's.
  if(call::close(fd) != 0 && errno != EINTR)
    log(LogLevel::Failure, "a file descriptor could not be closed", call::close.refusal());
}

Result<Fd> duplicate(int fd) {
  Fd copy{call::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
  if(!copy)
    return call::fcntl.refusal();
  return copy;
}

Result<Fd> aboveStandard(Fd fd) {
  if(fd.get() > STDERR_FILENO)
    return fd;
  return duplicate(fd.get());
}

} // namespace rdmagpu::os
