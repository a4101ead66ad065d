#include "parse/count.hpp"

#include "frames/decimal.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {

Expected<std::uint64_t> parseCount(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = parseDecimal(text);
  if(!value || *value < least || *value > most)
    return InputError{InputErrorKind::BadValue,
                      fmt::format("{} is not a whole number from {} to {}", quote(text), least, most)};
  return *value;
}

} // namespace rdmagpu::cli
