#include "frames/input_error.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <system_error>

namespace rdmagpu::cli {

InputError osError(std::string_view name, std::string_view what, int code) {
  return {InputErrorKind::Io, fmt::format("{}: {}: {}", name, what, std::generic_category().message(code))};
}

InputError interrupted(std::string_view name) {
  return {InputErrorKind::Interrupted, fmt::format("{}: interrupted", name)};
}

std::string quote(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string quoted = "'";
  for(const char c : text.substr(0, longest)) {
    if(c >= 0x20 && c < 0x7f)
      quoted += c;
    else
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  quoted += text.size() > longest ? "...'" : "'";
  return quoted;
}

} // namespace rdmagpu::cli
