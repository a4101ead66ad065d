#pragma once
#include <rdmagpu/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmagpu::os {

/// The whole of a small file of /proc or /sys. A file beyond 1 MiB is cut there.
Result<std::string> readFile(const std::string& path);
/// The same where the file may well not exist: then nullopt. Any other failure goes to the log sink.
std::optional<std::string> readIfThere(const std::string& path);

/// Whether there is such a file or directory. Empty where the system does not tell, which goes to the log
/// sink.
RDMAGPU_API std::optional<bool> exists(const std::string& path);

/// The first whole number in `text` after `key`, as in "MemAvailable:   123 kB"; an empty key means
/// the start of the text.
std::optional<std::uint64_t> numberAfter(std::string_view text, std::string_view key) noexcept;

} // namespace rdmagpu::os
