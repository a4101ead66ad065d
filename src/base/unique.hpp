#pragma once
#include <utility>

namespace rdmagpu {

/// A handle with exactly one owner: closed on destruction, empty after a move. `Traits` names the
/// handle's `Type`, its `empty()` value and how to `close(Type) noexcept`.
template <class Traits>
class [[nodiscard]] Unique {
public:
  using Type = typename Traits::Type;

  Unique() noexcept = default;
  explicit Unique(Type value) noexcept : m_value(value) {}
  ~Unique() { reset(); }
  Unique(Unique&& other) noexcept : m_value(other.release()) {}
  Unique& operator=(Unique&& other) noexcept {
    if(this != &other) {
      reset();
      m_value = other.release();
    }
    return *this;
  }

  const Type& get() const noexcept { return m_value; }
  explicit operator bool() const noexcept { return m_value != Traits::empty(); }
  [[nodiscard]] Type release() noexcept { return std::exchange(m_value, Traits::empty()); }
  void reset() noexcept {
    if(m_value != Traits::empty())
      Traits::close(release());
  }

private:
  Type m_value = Traits::empty();
};

} // namespace rdmagpu
