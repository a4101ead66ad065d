#include <doctor/root.hpp>
#include <os/tree.hpp>

#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rdmagpu::doctor {
namespace {

constexpr std::size_t mostNames = 4096;

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  while(true) {
    const std::size_t begin = text.find_first_not_of(at);
    if(begin == std::string_view::npos)
      return parts;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

} // namespace

Root::Root(std::string prefix) : m_prefix(std::move(prefix)) {
  while(m_prefix.ends_with('/'))
    m_prefix.pop_back();
}

std::optional<std::string> Root::read(const std::string& path, std::size_t most) const {
  auto text = os::readSome(m_prefix + path, most);
  return text ? std::optional{*std::move(text)} : std::nullopt;
}

std::string Root::line(const std::string& path) const {
  const auto text = read(path, 4096);
  return text ? std::string{trim(std::string_view{*text}.substr(0, text->find('\n')))} : std::string{};
}

std::optional<std::int64_t> Root::number(const std::string& path) const { return toNumber(line(path)); }

std::vector<std::string> Root::names(const std::string& path) const {
  return os::namesIn(m_prefix + path, mostNames);
}

std::string Root::link(const std::string& path) const { return os::linkTarget(m_prefix + path); }

std::string Root::linkName(const std::string& path) const {
  return std::filesystem::path{link(path)}.filename().string();
}

bool Root::has(const std::string& path) const {
  std::error_code failed;
  return std::filesystem::exists(std::filesystem::symlink_status(m_prefix + path, failed));
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view spaces{" \t\r\n\0", 5};
  const std::size_t begin = text.find_first_not_of(spaces);
  if(begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

std::vector<std::string_view> words(std::string_view text) { return split(text, " \t\r\n"); }
std::vector<std::string_view> lines(std::string_view text) { return split(text, "\n"); }

std::optional<std::int64_t> toNumber(std::string_view text) noexcept {
  const bool hexadecimal = text.starts_with("0x");
  if(hexadecimal)
    text.remove_prefix(2);
  std::int64_t value{};
  const auto [stop, status] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  return status == std::errc{} && stop != text.data() ? std::optional{value} : std::nullopt;
}

} // namespace rdmagpu::doctor
