#pragma once
#include <base/known_code.hpp>

#include <span>

namespace rdmagpu::os {

/// The system's own codes: errno values, or those of GetLastError().
std::span<const KnownCode> systemCodes() noexcept;

} // namespace rdmagpu::os
