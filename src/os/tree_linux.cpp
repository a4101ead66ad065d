#include <os/calls_linux.hpp>
#include <os/error.hpp>
#include <os/fd.hpp>
#include <os/tree.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace rdmagpu::os {
namespace {

Result<void> makeWay(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), failed);
  if(failed)
    return error("mkdir", failed.value());
  return {};
}

} // namespace

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

Result<void> makeFolder(const std::string& path) {
  std::error_code failed;
  if(!std::filesystem::create_directory(path, failed))
    return error("mkdir", failed ? failed.value() : EEXIST);
  return {};
}

Result<void> writeFile(const std::string& folder, const std::string& path, std::string_view text) {
  if(const auto made = makeWay(folder + path); !made)
    return made;
  constexpr mode_t readable = 0644;
  const Fd fd{
      call::open((folder + path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, readable)};
  if(!fd)
    return call::open.refusal();
  std::size_t written = 0;
  while(written < text.size()) {
    const ssize_t put =
        call::writeAt(fd.get(), text.data() + written, text.size() - written, static_cast<off_t>(written));
    if(put < 0 && errno == EINTR)
      continue;
    if(put < 0)
      return call::writeAt.refusal();
    written += static_cast<std::size_t>(put);
  }
  return {};
}

Result<void> makeLink(const std::string& folder, const std::string& path, const std::string& target) {
  if(const auto made = makeWay(folder + path); !made)
    return made;
  std::error_code failed;
  std::filesystem::create_symlink(target, folder + path, failed);
  if(failed)
    return error("symlink", failed.value());
  return {};
}

} // namespace rdmagpu::os
