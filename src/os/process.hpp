#pragma once
#include <rdmagpu/error.hpp>

#include <cstdint>

namespace rdmagpu::os {

/// Whether a process can have a forked child at all.
#ifdef _WIN32
inline constexpr bool forks = false;
#else
inline constexpr bool forks = true;
#endif

/// A number that stays the same in one process and is another in each forked child, so that
/// an owner can tell whether what it holds is its own. Must have succeeded once before currentProcess().
RDMAGPU_API Result<std::uint64_t> identifyProcess() noexcept;

/// The same number, at the cost of one load. Also in a forked child.
RDMAGPU_API std::uint64_t currentProcess() noexcept;

} // namespace rdmagpu::os
