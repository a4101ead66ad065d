#pragma once
#include "frames/expected.hpp"
#include "frames/picture_size.hpp"

#include <string_view>

namespace rdmagpu::cli {

/// "1920x1080".
Expected<PictureSize> parsePictureSize(std::string_view text);

} // namespace rdmagpu::cli
