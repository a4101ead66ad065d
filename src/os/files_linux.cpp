#include <base/log.hpp>
#include <os/calls_linux.hpp>
#include <os/fd.hpp>
#include <os/files.hpp>

#include <array>
#include <charconv>

namespace rdmagpu::os {
namespace {

bool saysAbsent(const Error& error) noexcept { return error.code == ENOENT || error.code == ENOTDIR; }

} // namespace

Result<std::string> readFile(const std::string& path) {
  constexpr std::size_t most = 1U << 20;
  const Fd fd{call::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if(!fd)
    return call::open.refusal();
  std::string text;
  std::array<char, 4096> part;
  while(text.size() < most) {
    const ssize_t got = call::read(fd.get(), part.data(), part.size());
    if(got < 0 && errno == EINTR)
      continue;
    if(got < 0)
      return call::read.refusal();
    if(got == 0)
      break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> readIfThere(const std::string& path) {
  auto text = readFile(path);
  if(text)
    return *std::move(text);
  if(!saysAbsent(text.error()))
    log(LogLevel::Warning, ("could not read " + path).c_str(), text.error());
  return {};
}

std::optional<bool> exists(const std::string& path) {
  const Fd fd{call::open(path.c_str(), O_PATH | O_CLOEXEC)};
  if(fd)
    return true;
  const Error refusal = call::open.refusal();
  if(saysAbsent(refusal))
    return false;
  log(LogLevel::Warning, ("could not look for " + path).c_str(), refusal);
  return {};
}

std::optional<std::uint64_t> numberAfter(std::string_view text, std::string_view key) noexcept {
  const std::size_t at = text.find(key);
  if(at == std::string_view::npos)
    return {};
  text.remove_prefix(at + key.size());
  const std::size_t start = text.find_first_not_of(" \t");
  if(start == std::string_view::npos)
    return {};
  text.remove_prefix(start);
  std::uint64_t value{};
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} ? std::optional{value} : std::nullopt;
}

} // namespace rdmagpu::os
