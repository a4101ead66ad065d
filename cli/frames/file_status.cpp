#include "frames/file_status.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace rdmagpu::cli {

Expected<FileStatus> fileStatus(int fd, std::string_view name) {
  struct stat status {};
  if(::fstat(fd, &status) != 0)
    return osError(name, "cannot be used", errno);
  return FileStatus{.id = {status.st_dev, status.st_ino},
                    .regular = S_ISREG(status.st_mode),
                    .directory = S_ISDIR(status.st_mode),
                    .size = static_cast<std::uint64_t>(status.st_size)};
}

} // namespace rdmagpu::cli
