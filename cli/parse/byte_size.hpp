#pragma once
#include "frames/expected.hpp"

#include <cstddef>
#include <string_view>

namespace rdmagpu::cli {

/// A size in bytes, at least 1: "4147200", "64K", "64KiB", "2M", "1G", "1T". K is 1024, as for dd and ulimit,
/// and upper and lower case are the same. "KB" is refused, because half the world reads it as 1000.
Expected<std::size_t> parseByteSize(std::string_view text);

} // namespace rdmagpu::cli
