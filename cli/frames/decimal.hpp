#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace rdmagpu::cli {

/// Digits and nothing else: no sign, no space, no prefix. Empty when it is anything else or beyond 64 bits.
inline std::optional<std::uint64_t> parseDecimal(std::string_view text) noexcept {
  std::uint64_t value{};
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if(status != std::errc{} || stop != end)
    return {};
  return value;
}

} // namespace rdmagpu::cli
