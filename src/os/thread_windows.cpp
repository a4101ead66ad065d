#include <base/library_error.hpp>
#include <os/thread.hpp>

#include <utility>

namespace rdmagpu::os {

Result<std::thread> startThread(std::function<void()> body) {
  try {
    return std::thread{std::move(body)};
  } catch(const std::system_error& refused) {
    return threadRefused(refused);
  }
}

// The compiler's run-time has turned the system's own code into another.
Error threadRefused(const std::system_error&) noexcept {
  return libraryError("std::thread", LibraryCode::OutOfMemory);
}

} // namespace rdmagpu::os
