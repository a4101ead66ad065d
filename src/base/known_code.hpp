#pragma once
#include <base/hints.hpp>
#include <rdmagpu/error.hpp>

#include <cstdint>
#include <span>

namespace rdmagpu {

/// A code of a driver's or of the system's, what its header calls it, and what it means.
struct KnownCode {
  std::int64_t value;
  const char* name;
  Errc kind;
};

/// The Error of a call that answered with `code`; Internal, without a name, where `known` does not have it.
inline Error codeError(Origin origin, std::span<const KnownCode> known, const char* call, std::int64_t code,
                       std::uint64_t bytes, std::uint64_t available = 0) noexcept {
  const Hint* hint = findHint(origin, call, code);
  Error error{.kind = Errc::Internal,
              .origin = origin,
              .code = code,
              .call = call,
              .finding = hint ? hint->finding : "",
              .bytes = bytes,
              .available = available};
  for(const KnownCode& one : known) {
    if(one.value == code) {
      error.kind = one.kind;
      error.codeName = one.name;
    }
  }
  return error;
}

} // namespace rdmagpu
