#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::os {

/// Bytes that this process could still allocate without the kernel having to kill something: what
/// the machine has free or can free, bounded by every memory limit of the control groups (v1 and
/// v2) that the process is in. `root` replaces "/" for /proc and /sys. nullopt: the system does not tell.
std::optional<std::uint64_t> memoryBudget(const std::string& root = "");

/// Bytes free in the kernel's pool of 2 MiB pages.
std::optional<std::uint64_t> hugePageBudget(const std::string& root = "");

} // namespace rdmagpu::os
