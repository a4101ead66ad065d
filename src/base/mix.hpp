#pragma once
#include <cstddef>
#include <cstdint>

/// What patterns, poison and checksums are made of. The kernels of backend/cuda_kernels_ptx.cpp compute the
/// same and name these functions.
namespace rdmagpu {

/// SplitMix64's output function (Steele, Lea, Flood 2014): a bijection in which every input bit changes half
/// of the output's.
constexpr std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

inline constexpr std::uint64_t goldenStep = 0x9e3779b97f4a7c15; // SplitMix64's: the golden ratio, odd

/// What word `index` adds to a checksum's sum.
constexpr std::uint64_t checksumTerm(std::uint64_t word, std::uint64_t index) noexcept {
  return mix(word ^ (index + 1) * goldenStep);
}

/// The checksum of `bytes` bytes whose words' terms have that sum.
constexpr std::uint64_t checksumOf(std::uint64_t sum, std::uint64_t bytes) noexcept {
  return mix(sum + (bytes + 1) * goldenStep);
}

/// Of a seed: without it, neighbouring seeds would give the same words a step apart.
constexpr std::uint64_t poisonKey(std::uint64_t seed) noexcept { return mix(seed + goldenStep); }

constexpr std::uint64_t poisonWord(std::uint64_t key, std::uint64_t index) noexcept {
  return mix(key + index * goldenStep);
}

} // namespace rdmagpu
