#include "parse/byte_size.hpp"

#include "frames/decimal.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace rdmagpu::cli {
namespace {

constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// The power of two that "", "K", "KiB", ... multiply by.
std::optional<unsigned> unitShift(std::string_view unit) noexcept {
  constexpr std::string_view letters = "KMGT";
  if(unit.empty())
    return 0;
  const std::size_t letter = letters.find(upper(unit[0]));
  const bool longForm = unit.size() == 3 && upper(unit[1]) == 'I' && upper(unit[2]) == 'B';
  if(letter == std::string_view::npos || (unit.size() != 1 && !longForm))
    return {};
  return 10 * static_cast<unsigned>(letter + 1);
}

} // namespace

Expected<std::size_t> parseByteSize(std::string_view text) {
  std::size_t digits = 0;
  while(digits < text.size() && isDigit(text[digits]))
    ++digits;
  const auto count = parseDecimal(text.substr(0, digits));
  const auto shift = unitShift(text.substr(digits));
  if(digits == 0 || !shift)
    return InputError{
        InputErrorKind::BadValue,
        fmt::format("{} is no size: it is a whole number of bytes, or one followed by K, M, G or T "
                    "(or KiB, MiB, GiB, TiB), where K is 1024",
                    quote(text))};
  constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max();
  if(!count || *count > (most >> *shift))
    return InputError{InputErrorKind::BadValue,
                      fmt::format("{} is no size: it is more than {} bytes", quote(text), most)};
  if(*count == 0)
    return InputError{InputErrorKind::BadValue,
                      fmt::format("{} is no size: it is at least 1 byte", quote(text))};
  return static_cast<std::size_t>(*count << *shift);
}

} // namespace rdmagpu::cli
