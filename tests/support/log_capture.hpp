#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/log.hpp>

#include <mutex>
#include <string>
#include <vector>

namespace rdmagpu::test {

/// Collects what the library logs while it lives.
class LogCapture {
public:
  LogCapture() {
    setLogSink(
        [](void* self, LogLevel, const char* text, const Error* error) {
          auto& capture = *static_cast<LogCapture*>(self);
          const std::lock_guard lock{capture.m_mutex};
          capture.m_texts.emplace_back(text);
          if(error)
            capture.m_errors.push_back(*error);
        },
        this);
  }
  ~LogCapture() { setLogSink(nullptr, nullptr); }
  LogCapture(LogCapture&&) = delete;

  std::vector<Error> errors() const {
    const std::lock_guard lock{m_mutex};
    return m_errors;
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock{m_mutex};
    return m_texts;
  }

private:
  mutable std::mutex m_mutex;
  std::vector<Error> m_errors;
  std::vector<std::string> m_texts;
};

} // namespace rdmagpu::test
