#pragma once
#include <base/library_error.hpp>

#include <cstdint>

namespace rdmagpu {

/// Whether a value that came from outside is one of its type's, which are numbered from 0 to `last`.
template <class Enum>
Result<void> checkValue(const char* field, Enum value, Enum last) noexcept {
  const auto number = static_cast<std::uint64_t>(value);
  const auto most = static_cast<std::uint64_t>(last);
  return number <= most ? Result<void>{} : libraryError(field, LibraryCode::ValueUnknown, number, most);
}

} // namespace rdmagpu
