#pragma once
#include <cstddef>
#include <cstdint>

namespace rdmagpu::backend::cuda {

/// The kernels, in the text form that the driver compiles for whatever GPU it has. Each of them sees how
/// many threads there are and takes its share, so that any number of blocks is right; but for the last one.
///
///     rdmagpu_checksum(from, bytes, sum)  adds the terms of checksum() to the 64-bit word at `sum`. Fast
///                                         where `from` is a multiple of 16, right anywhere.
///     rdmagpu_poison(to, bytes, key)      writes poisonWord(key, i) to each word; both are multiples of 16.
///     rdmagpu_sample(jobs)                compares the words at some places of a slot with those in the
///                                         table, which it updates, and where `lay` is not 0 writes
///                                         mix(key + i * goldenStep) to each. Each row of blocks does one of
///                                         the jobs, and wants a thread for each of its places.
///                                         Every 32 threads answer with a word in host memory: a bit for each
///                                         thread whose place has changed, and above them the lower half of
///                                         `number`. What they wrote is in memory then, so that who has all
///                                         words need not wait for the kernel's end. Blocks without a place
///                                         do not answer.
///
/// All parameters are 64 bits wide, but for the jobs. What a word becomes is written once for the CPU, in
/// base/mix.hpp.
extern const char kernelsPtx[];

/// Each block has exactly as many threads: a kernel refuses any other number.
inline constexpr unsigned threadsPerBlock = 256;
/// The same of rdmagpu_sample. They are few, so that many multiprocessors share the wait for memory.
inline constexpr unsigned threadsPerSampleBlock = 64;
/// What a thread takes at a time.
inline constexpr std::size_t bytesPerThread = 16;

/// One of rdmagpu_sample's table.
struct SampledPlace {
  std::uint64_t last{};  ///< What was there.
  std::uint64_t where{}; ///< Its offset in the slot, and in the lowest widthBits how many bytes: 8 at most.
};
inline constexpr unsigned widthBits = 4;

/// One of the two that rdmagpu_sample is given. Of those behind its last row it reads nothing.
struct SampleJob {
  std::uint64_t slot{};
  std::uint64_t table{}; ///< Of SampledPlace.
  std::uint64_t places{};
  std::uint64_t key{};
  std::uint64_t lay{};
  std::uint64_t answer{};
  std::uint64_t number{};
};
static_assert(sizeof(SampleJob) == 56, "as the kernel has it");

} // namespace rdmagpu::backend::cuda
