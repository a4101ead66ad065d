#include <base/library_error.hpp>
#include <os/calls_windows.hpp>
#include <os/library.hpp>

namespace rdmagpu::os {
namespace {

HMODULE moduleOf(void* handle) noexcept { return static_cast<HMODULE>(handle); }

} // namespace

// Drivers' libraries lie in System32, and nowhere else is looked: a file of that name beside a document must
// not become part of the process.
Result<Library> Library::open(const char* soname) noexcept {
  void* handle = ::LoadLibraryExA(soname, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
  if(!handle)
    return libraryError(soname, LibraryCode::DriverAbsent);
  return Library{handle};
}

bool Library::isLoaded(const char* soname) noexcept { return ::GetModuleHandleA(soname) != nullptr; }

void* Library::find(const char* symbol) noexcept {
  return reinterpret_cast<void*>(::GetProcAddress(moduleOf(m_handle), symbol)); // whose type the caller knows
}

} // namespace rdmagpu::os
