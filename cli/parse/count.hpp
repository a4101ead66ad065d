#pragma once
#include "frames/expected.hpp"

#include <cstdint>
#include <string_view>

namespace rdmagpu::cli {

/// A whole number from `least` to `most`, both included.
Expected<std::uint64_t> parseCount(std::string_view text, std::uint64_t least, std::uint64_t most);

} // namespace rdmagpu::cli
