#pragma once
#include <rdmagpu/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu {

/// A 64-bit checksum that tells whether bytes arrived as they were sent; RdmaGpuBuffer::checksum() computes
/// the same where the memory lies. Not cryptographic: against damage, not against malice.
///
/// It finds every change that lies within one aligned group of eight bytes. Any other, such as words or
/// lines that changed places, it misses once in 2^64. Bytes that end in zeros differ from those without.
///
/// To compute it elsewhere, in arithmetic modulo 2^64:
///
///     mix(z):  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
///              z = (z ^ (z >> 27)) * 0x94d049bb133111eb
///              return z ^ (z >> 31)
///     step = 0x9e3779b97f4a7c15
///     w[0], w[1], ...: the bytes as little-endian words of eight, the last one filled up with zeros
///     checksum = mix(sum of mix(w[i] ^ (i + 1) * step)  +  (number of bytes + 1) * step)
///
/// The terms can be summed up in any order. Of no bytes it is 0xe220a8397b1dcdaf.
RDMAGPU_API std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

} // namespace rdmagpu
