#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>

namespace rdmagpu::fuzz {

/// Not assert(): a fuzzer is worth most in a release build.
inline void check(bool holds, const char* rule, const std::string& what = {}) {
  if(holds)
    return;
  std::fprintf(stderr, "broken: %s: %s\n", rule, what.c_str());
  std::abort();
}

} // namespace rdmagpu::fuzz
