#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
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

/// Makes a folder that is not there yet.
Result<void> makeFolder(const std::string& path);

/// Makes a file, or a symbolic link, that is not there yet, at a path within a folder, and the folders on the
/// way to it.
Result<void> writeFile(const std::string& folder, const std::string& path, std::string_view text);
Result<void> makeLink(const std::string& folder, const std::string& path, const std::string& target);

/// Whether something has that name, and be it a link that leads nowhere.
bool isThere(const std::string& path);

} // namespace rdmagpu::os
