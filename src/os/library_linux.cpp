#include <base/library_error.hpp>
#include <os/library.hpp>

#include <dlfcn.h>

namespace rdmagpu::os {

Result<Library> Library::open(const char* soname) noexcept {
  void* handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if(!handle)
    return libraryError(soname, LibraryCode::DriverAbsent);
  return Library{handle};
}

bool Library::isLoaded(const char* soname) noexcept {
  void* handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
  if(handle)
    dlclose(handle); // gives back what that took: one of several references
  return handle != nullptr;
}

void* Library::find(const char* symbol) noexcept { return dlsym(m_handle, symbol); }

} // namespace rdmagpu::os
