#pragma once
#include <rdmagpu/export.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::os {

/// What the limit on locked memory leaves for drivers that pin pages (RLIMIT_MEMLOCK less VmPin, which they
/// count apart from mlock); nullopt where there is no limit. `root` replaces "/" for /proc.
RDMAGPU_API std::optional<std::uint64_t> pinnableBytes(const std::string& root = "");

} // namespace rdmagpu::os
