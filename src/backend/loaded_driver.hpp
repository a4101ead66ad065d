#pragma once
#include <base/library_error.hpp>
#include <os/library.hpp>
#include <os/process.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace rdmagpu::backend {

/// A driver's library, loaded for good, its functions, and the process that uses them: what a driver has
/// given out means nothing in a forked child.
template <class Functions>
class LoadedDriver {
public:
  explicit LoadedDriver(const char* soname) noexcept : m_library(os::Library::open(soname)) {
    if(!m_library) {
      m_absence = m_library.error();
      return;
    }
    m_functions.emplace(*m_library);
    if(const char* missing = m_functions->load.missing())
      m_absence = libraryError(missing, LibraryCode::DriverTooOld);
  }

  /// Why it cannot be used; kind None: it can.
  const Error& absence() const noexcept { return m_absence; }
  /// Only where it can be used.
  const Functions& functions() const noexcept { return *m_functions; }

  void startUse(std::uint64_t process) noexcept { m_process.store(process, std::memory_order_relaxed); }
  /// ForkedChild where another process has started to use it. `call` is that which starts.
  Result<void> checkProcess(const char* call) const noexcept {
    const std::uint64_t user = m_process.load(std::memory_order_relaxed);
    if(user != 0 && user != os::currentProcess())
      return libraryError(call, LibraryCode::ForkedChild);
    return {};
  }

private:
  Result<os::Library> m_library; // what the functions' loader refers to
  Error m_absence{};
  std::optional<Functions> m_functions;
  std::atomic<std::uint64_t> m_process{}; ///< 0: none.
};

} // namespace rdmagpu::backend
