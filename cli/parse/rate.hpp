#pragma once
#include "frames/expected.hpp"
#include "frames/rate.hpp"

#include <optional>
#include <string_view>

namespace rdmagpu::cli {

/// Frames a second: "60", "12.5", "60000/1001"; "max" or "free" is no rate at all, as fast as it goes. The
/// NTSC rates can be given as they are spoken: "59.94" is 60000/1001 and not 5994/100; so with 23.976, 29.97,
/// 47.952, 119.88 and any other rounding of these to two digits or more.
Expected<std::optional<Rate>> parseRate(std::string_view text);

} // namespace rdmagpu::cli
