#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/log.hpp>

namespace rdmagpu {

void log(LogLevel level, const char* text) noexcept;
/// For a failure that has nobody to be returned to, such as one while releasing.
RDMAGPU_API void log(LogLevel level, const char* text, const Error& error) noexcept;

} // namespace rdmagpu
