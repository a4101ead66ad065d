#include "parse/picture_size.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {

Expected<PictureSize> parsePictureSize(std::string_view text) {
  const std::size_t cross = text.find('x');
  if(cross == std::string_view::npos)
    return InputError{
        InputErrorKind::BadValue,
        fmt::format("{} is no picture size: it is WIDTHxHEIGHT, such as 1920x1080", quote(text))};
  const auto width = parseDimension(text.substr(0, cross));
  const auto height = parseDimension(text.substr(cross + 1));
  if(!width || !height)
    return InputError{InputErrorKind::BadValue, fmt::format("{} is no picture size: {}", quote(text),
                                                            (width ? height : width).error().message)};
  return PictureSize{*width, *height};
}

} // namespace rdmagpu::cli
