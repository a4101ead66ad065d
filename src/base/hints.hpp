#pragma once
#include <rdmagpu/error.hpp>

namespace rdmagpu {

/// The row of the table that speaks of this failure; null when none does.
RDMAGPU_API const Hint* findHint(Origin origin, const char* call, std::int64_t code) noexcept;

} // namespace rdmagpu
