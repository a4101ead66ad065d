#pragma once
#include <rdmagpu/error.hpp>

#include <cstdint>

namespace rdmagpu::os {

/// A refusal by the operating system: `code` is an errno value, `call` the system call's name.
/// `asked` and `limit` are its sizes, 0 where it has none.
RDMAGPU_API Error error(const char* call, int code, std::uint64_t asked = 0,
                        std::uint64_t limit = 0) noexcept;

/// The same by another component whose codes are errno values.
RDMAGPU_API Error error(Origin, const char* call, int code, std::uint64_t asked = 0,
                        std::uint64_t limit = 0) noexcept;

} // namespace rdmagpu::os
