#pragma once
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu::cli {

/// What frames are compared by: hashOf() where the CPU reads them, rdmagpu::checksum() where a GPU does.
using FrameHash = std::uint64_t (*)(std::span<const std::byte>) noexcept;

/// XXH3, 64 bits.
inline std::uint64_t hashOf(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace rdmagpu::cli
