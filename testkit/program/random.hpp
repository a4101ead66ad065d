#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace rdmagpu::testkit {

/// SplitMix64: the same numbers from the same seed on every machine, which the standard library's
/// distributions do not promise.
class Random {
public:
  explicit Random(std::uint64_t seed) noexcept : m_state(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (m_state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// In [0, n); n is not 0.
  std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }
  bool chance(unsigned percent) noexcept { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> choices) noexcept {
    return choices.begin()[below(choices.size())];
  }

private:
  std::uint64_t m_state;
};

} // namespace rdmagpu::testkit
