#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>

namespace rdmagpu {

/// What two threads write to at once is kept this far apart. Not
/// std::hardware_destructive_interference_size, which changes with compiler flags.
inline constexpr std::size_t cacheLine = 64;

/// A fixed array that shares no cache line with anything else.
template <class T>
class LineArray {
public:
  explicit LineArray(std::size_t size)
      : m_lines(std::make_unique_for_overwrite<Line[]>((size * sizeof(T) + cacheLine - 1) / cacheLine)),
        m_items(static_cast<T*>(static_cast<void*>(m_lines.get()))) {
    std::uninitialized_value_construct_n(m_items, size);
  }
  T& operator[](std::size_t i) noexcept { return m_items[i]; }
  const T& operator[](std::size_t i) const noexcept { return m_items[i]; }

private:
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= cacheLine);
  struct alignas(cacheLine) Line {
    std::byte bytes[cacheLine];
  };
  std::unique_ptr<Line[]> m_lines;
  T* m_items;
};

} // namespace rdmagpu
