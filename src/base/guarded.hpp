#pragma once
#include <base/library_error.hpp>

#include <new>

namespace rdmagpu {

/// Runs the body of a public function that returns a Result; memory that has run out becomes an Error too.
template <class Body>
auto guarded(const char* call, Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch(const std::bad_alloc&) {
    return libraryError(call, LibraryCode::OutOfMemory);
  }
}

} // namespace rdmagpu
