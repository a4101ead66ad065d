#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>

namespace rdmagpu::os {

/// Makes every page of a writable mapping present, zeroed by the kernel if it is fresh, on as many
/// threads as there are CPUs to run them and megabytes to share out. All are joined on return.
/// On failure some pages may be present.
Result<void> populate(std::byte* data, std::size_t bytes);

/// A part of it, on this thread.
Result<void> populatePart(std::byte* data, std::size_t bytes) noexcept;

} // namespace rdmagpu::os
