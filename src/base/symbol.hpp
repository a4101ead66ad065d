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

/// Where a driver's functions come from: a shared library, or a test's stand-in.
class SymbolSource {
public:
  /// The function of that exact name; null when there is none.
  virtual void* find(const char* symbol) noexcept = 0;

protected:
  ~SymbolSource() = default;
};

} // namespace rdmagpu
