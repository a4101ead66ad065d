#include "human.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace rdmagpu::cli {

std::string bytesText(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if(bytes < 1024)
    return fmt::format("{}", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while(value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} ({:.4g} {})", bytes, value, units[unit]);
}

std::string durationText(std::int64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if(nanoseconds < 1'000)
    return fmt::format("{} ns", nanoseconds);
  if(nanoseconds < 1'000'000)
    return fmt::format("{:.1f} us", value / 1e3);
  if(nanoseconds < 1'000'000'000)
    return fmt::format("{:.2f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string factLines(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::size_t width = 0;
  for(const auto& [name, value] : facts)
    width = std::max(width, name.size());
  std::string text;
  for(const auto& [name, value] : facts) {
    text += fmt::format("{:<{}}  ", name, width);
    for(const char c : value) {
      text += c;
      if(c == '\n')
        text += fmt::format("{:<{}}  ", "", width);
    }
    text += '\n';
  }
  return text;
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for(const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for(std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for(const auto& row : rows) {
    for(std::size_t i = 0; i + 1 < row.size(); ++i)
      text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.empty() ? "\n" : row.back() + '\n';
  }
  return text;
}

} // namespace rdmagpu::cli
