#pragma once
#include <array>
#include <cstddef>
#include <memory>

namespace rdmagpu {

/// What two threads write to at once is kept this far apart. Not
/// std::hardware_destructive_interference_size, which changes with compiler flags.
inline constexpr std::size_t cacheLine = 64;

/// A fixed array that shares no cache line with anything else.
template <class T>
class LineArray {
public:
  explicit LineArray(std::size_t size) : m_lines(std::make_unique<Line[]>((size + perLine - 1) / perLine)) {}
  T& operator[](std::size_t i) noexcept { return m_lines[i / perLine].items[i % perLine]; }
  const T& operator[](std::size_t i) const noexcept { return m_lines[i / perLine].items[i % perLine]; }

private:
  static constexpr std::size_t perLine = cacheLine / sizeof(T);
  struct alignas(cacheLine) Line {
    std::array<T, perLine> items{};
  };
  std::unique_ptr<Line[]> m_lines;
};

} // namespace rdmagpu
