#pragma once
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace rdmagpu::os {

/// Tells the processor that this thread spins, which saves power and lets its sibling run.
#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
inline void cpuRelax() noexcept { _mm_pause(); }
#elif defined(_MSC_VER) && defined(_M_ARM64)
inline void cpuRelax() noexcept { __yield(); }
#elif defined(__x86_64__) || defined(__i386__)
inline void cpuRelax() noexcept { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
inline void cpuRelax() noexcept { asm volatile("yield"); }
#else
inline void cpuRelax() noexcept {}
#endif

} // namespace rdmagpu::os
