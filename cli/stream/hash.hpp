#pragma once
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu::cli {

inline std::uint64_t hashOf(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace rdmagpu::cli
