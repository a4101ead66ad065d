#pragma once
#include <cstdlib>
#include <string_view>

namespace rdmagpu::test {

// GCC says it with macros, Clang with features.
#if defined(__has_feature)
#define RDMAGPU_TEST_HAS_FEATURE(x) __has_feature(x)
#else
#define RDMAGPU_TEST_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || RDMAGPU_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool threadSanitizer = true;
#else
inline constexpr bool threadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || RDMAGPU_TEST_HAS_FEATURE(address_sanitizer)
inline constexpr bool addressSanitizer = true;
#else
inline constexpr bool addressSanitizer = false;
#endif
inline constexpr bool sanitized = threadSanitizer || addressSanitizer;

/// Valgrind preloads its own memory functions into what it runs.
inline bool onValgrind() {
  const char* preloaded = std::getenv("LD_PRELOAD");
  return preloaded && std::string_view{preloaded}.find("vgpreload") != std::string_view::npos;
}

} // namespace rdmagpu::test
