#pragma once
#include <rdmagpu/export.hpp>

#include <cstdint>

namespace rdmagpu {

struct Error;

enum class LogLevel : std::uint8_t { Info, Warning, Failure };

/// Receives what cannot be returned: failures while releasing, and facts worth a line.
/// `text` lives for the call only; `error` is null when there is none. May be called from any
/// thread, also from destructors, and must not throw or call back into the library.
using LogSink = void (*)(void* context, LogLevel level, const char* text, const Error* error);

/// Replaces the sink for the whole process; null restores the default, which is silence. A message
/// that another thread is delivering meanwhile may still reach the sink that was there before, with
/// its own context: keep that context alive until the process ends or its threads have stopped.
RDMAGPU_API void setLogSink(LogSink sink, void* context) noexcept;

} // namespace rdmagpu
