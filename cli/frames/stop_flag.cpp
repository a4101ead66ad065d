#include "frames/stop_flag.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>

namespace rdmagpu::cli {

void waitReady(int fd, short events, StopFlag stop) noexcept {
  constexpr int lookAgainMs = 100;
  while(!stopAsked(stop)) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, stop ? lookAgainMs : -1);
    if(ready > 0 || (ready < 0 && errno != EINTR))
      return;
  }
}

Expected<FileDescriptor> openFile(const std::string& path, int flags, StopFlag stop) {
  constexpr mode_t everybody = 0666; // less the umask, as for any file that a user makes
  while(!stopAsked(stop)) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, everybody);
    if(fd >= 0)
      return FileDescriptor::own(fd);
    if(errno != EINTR)
      return osError(path, "cannot be opened", errno);
  }
  return interrupted(path);
}

} // namespace rdmagpu::cli
