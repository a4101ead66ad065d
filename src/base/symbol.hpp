#pragma once
#include <cstddef>

namespace rdmagpu {

/// A function's exported name as a template argument, so that whatever reports a failure of the
/// function can name it.
template <std::size_t N>
struct Symbol {
  char text[N]{};
  consteval Symbol(const char (&s)[N]) {
    for(std::size_t i = 0; i < N; ++i)
      text[i] = s[i];
  }
};

} // namespace rdmagpu
