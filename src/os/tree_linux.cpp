#include <os/calls_linux.hpp>
#include <os/fd.hpp>
#include <os/tree.hpp>

#include <algorithm>

namespace rdmagpu::os {

Result<std::string> readSome(const std::string& path, std::size_t most) {
  const Fd fd{call::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if(!fd)
    return call::open.refusal();
  struct stat status {};
  if(call::fstat(fd.get(), &status) != 0)
    return call::fstat.refusal();
  if(!S_ISREG(status.st_mode))
    return error(call::open.name(), EINVAL);
  std::string text;
  while(text.size() < most) {
    const std::size_t before = text.size();
    text.resize(std::min(most, before + 4096));
    const ssize_t got = call::read(fd.get(), text.data() + before, text.size() - before);
    text.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if(got < 0 && errno == EINTR)
      continue;
    if(got < 0)
      return call::read.refusal();
    if(got == 0)
      break;
  }
  return text;
}

} // namespace rdmagpu::os
