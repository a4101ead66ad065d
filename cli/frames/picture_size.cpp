#include "frames/picture_size.hpp"

#include "frames/decimal.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {
namespace {

bool inRange(std::uint64_t dimension) noexcept { return dimension >= 1 && dimension <= maxDimension; }

} // namespace

Expected<std::uint32_t> parseDimension(std::string_view text) {
  const auto value = parseDecimal(text);
  if(!value || !inRange(*value))
    return InputError{InputErrorKind::BadValue,
                      fmt::format("{} is no width or height: these are whole numbers from 1 to {}",
                                  quote(text), maxDimension)};
  return static_cast<std::uint32_t>(*value);
}

Expected<void> checkPictureSize(PictureSize size) {
  if(!inRange(size.width) || !inRange(size.height))
    return InputError{InputErrorKind::BadValue,
                      fmt::format("{}x{} is no picture size: width and height are from 1 to {}", size.width,
                                  size.height, maxDimension)};
  return {};
}

} // namespace rdmagpu::cli
