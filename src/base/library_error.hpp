#pragma once
#include <rdmagpu/error.hpp>

namespace rdmagpu {

/// The codes of Origin::Library.
enum class LibraryCode : std::int32_t {
  None,
#define RDMAGPU_LIBRARY_ERROR(name, kind, finding, rule) name,
#include <base/library_errors.def>
#undef RDMAGPU_LIBRARY_ERROR
};

/// A refusal by this library. `call` is the public function that refuses; `asked` and `limit` are
/// the numbers that its rule compares, 0 where there are none.
RDMAGPU_API Error libraryError(const char* call, LibraryCode code, std::uint64_t asked = 0,
                               std::uint64_t limit = 0) noexcept;

/// The rule that `code` stands for; null when it is not one of LibraryCode.
const char* libraryRule(std::int64_t code) noexcept;

} // namespace rdmagpu
