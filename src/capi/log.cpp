#include <capi/convert.hpp>
#include <rdmagpu/c/log.h>
#include <rdmagpu/log.hpp>

#include <mutex>

using namespace rdmagpu;

namespace {

static_assert(static_cast<int>(LogLevel::Failure) == RDMAGPU_LOG_FAILURE);

struct Sink {
  rdmagpu_log_sink call{};
  void* context{};
};

/// The one of C's that is set; under its mutex.
struct Current {
  std::mutex mutex;
  Sink sink;
};

Current& current() noexcept {
  static Current one;
  return one;
}

void deliver(void*, LogLevel level, const char* text, const Error* error) {
  Sink sink;
  {
    const std::lock_guard lock(current().mutex);
    sink = current().sink;
  }
  if(!sink.call)
    return;
  const rdmagpu_error c = error ? capi::toC(*error) : rdmagpu_error{};
  sink.call(sink.context, static_cast<int32_t>(level), text, error ? &c : nullptr);
}

} // namespace

extern "C" void rdmagpu_set_log_sink(rdmagpu_log_sink sink, void* context) {
  {
    const std::lock_guard lock(current().mutex);
    current().sink = {sink, context};
  }
  setLogSink(sink ? deliver : nullptr, nullptr);
}
