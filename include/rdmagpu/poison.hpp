#pragma once
#include <rdmagpu/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu {

/// Fills `bytes` with what lies at the start of a slot after RdmaGpuBuffer::poison() with that seed. So what
/// a peer did not write can be told from what it did: no two words are alike, nor are two seeds' bytes at
/// the same place, but by chance.
///
/// With mix() and step as in checksum.hpp: key = mix(seed + step), and the bytes are the little-endian words
/// mix(key), mix(key + step), mix(key + 2 * step), ..., of the last one as many bytes as there is room for.
RDMAGPU_API void poison(std::span<std::byte> bytes, std::uint64_t seed) noexcept;

} // namespace rdmagpu
