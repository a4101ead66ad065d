#pragma once
#include "frames/pixel_format.hpp"

#include <string>
#include <string_view>

namespace rdmagpu::cli {

/// One colour space that a Y4M header can name.
struct Y4mColour {
  std::string_view tag;         ///< As it follows the C.
  std::string_view pixelFormat; ///< FFmpeg's name for the layout.
  PlanarShape shape;
};

/// What a header without a colour tag means.
const Y4mColour& defaultY4mColour() noexcept;

/// Null for a tag that is not known. Upper and lower case are the same: the older XYSCSS comment shouts.
const Y4mColour* findY4mColour(std::string_view tag) noexcept;

/// All tags, separated by ", ", for messages.
std::string y4mColourTags();

} // namespace rdmagpu::cli
