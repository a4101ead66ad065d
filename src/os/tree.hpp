#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace rdmagpu::os {

/// Whether the system tells of the machine in files, as Linux does in /proc and /sys. Their names, which hold
/// ":", Windows does not even allow.
#ifdef _WIN32
inline constexpr bool isToldInFiles = false;
#else
inline constexpr bool isToldInFiles = true;
#endif

/// The first bytes of a regular file, `most` at the utmost. Waits for nobody, so that any tree can be read,
/// also one that somebody else has made: anything but a regular file is EINVAL.
Result<std::string> readSome(const std::string& path, std::size_t most);

/// What a directory holds, in order, `most` names at the utmost; empty where it cannot be read.
std::vector<std::string> namesIn(const std::string& path, std::size_t most);

/// Where a symbolic link points, as it is written; empty where there is none.
std::string linkTarget(const std::string& path);

} // namespace rdmagpu::os
