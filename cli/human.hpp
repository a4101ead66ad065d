#pragma once
#include <rdmagpu/error.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rdmagpu::cli {

/// "4147200 (3.96 MiB)"; the second only from 1 KiB on.
std::string bytesText(std::uint64_t bytes);
/// "612 ns", "12.3 us", "4.56 ms", "1.23 s".
std::string durationText(std::int64_t nanoseconds);

/// Lines of a name and a value, the values in one column. A value may have several lines.
std::string factLines(const std::vector<std::pair<std::string, std::string>>& facts);

/// Rows in columns as wide as their widest cell; the first row is the heading.
std::string columns(const std::vector<std::vector<std::string>>& rows);

} // namespace rdmagpu::cli
