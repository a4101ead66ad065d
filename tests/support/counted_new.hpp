#pragma once
#include <atomic>
#include <cstdint>

/// What all threads do with operator new and delete, in a program that has counted_new.cpp.
namespace rdmagpu::test {

extern std::atomic<std::uint64_t> allocations;
extern std::atomic<std::int64_t> live;
extern std::atomic<std::uint64_t> failing; ///< The allocation that fails, counted from `allocations` == 1.

} // namespace rdmagpu::test
