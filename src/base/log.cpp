#include <base/log.hpp>

#include <mutex>

namespace rdmagpu {
namespace {

struct Sink {
  LogSink function{};
  void* context{};
};

std::mutex sinkMutex;
Sink sink;

void deliver(LogLevel level, const char* text, const Error* error) noexcept {
  Sink now;
  {
    const std::lock_guard lock{sinkMutex};
    now = sink;
  }
  if(now.function)
    now.function(now.context, level, text, error);
}

} // namespace

void setLogSink(LogSink function, void* context) noexcept {
  const std::lock_guard lock{sinkMutex};
  sink = {function, context};
}

void log(LogLevel level, const char* text) noexcept { deliver(level, text, nullptr); }

void log(LogLevel level, const char* text, const Error& error) noexcept { deliver(level, text, &error); }

} // namespace rdmagpu
