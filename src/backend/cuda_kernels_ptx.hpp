#pragma once
#include <cstddef>

namespace rdmagpu::backend::cuda {

/// The kernels, in the text form that the driver compiles for whatever GPU it has. Each of them sees how
/// many threads there are and takes its share, so that any number of blocks is right.
///
///     rdmagpu_checksum(from, bytes, sum)  adds the terms of checksum() to the 64-bit word at `sum`. Fast
///                                         where `from` is a multiple of 16, right anywhere.
///     rdmagpu_poison(to, bytes, key)      writes poisonWord(key, i) to each word; both are multiples of 16.
///
/// All parameters are 64 bits wide. What a word becomes is written once for the CPU, in base/mix.hpp.
extern const char kernelsPtx[];

/// Each block has exactly as many threads: a kernel refuses any other number.
inline constexpr unsigned threadsPerBlock = 256;
/// What a thread takes at a time.
inline constexpr std::size_t bytesPerThread = 16;

} // namespace rdmagpu::backend::cuda
