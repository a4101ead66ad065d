#pragma once
#include <rdmagpu/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmagpu {

/// The bytes that a proof sends, and those that lie there before: the poison is the pattern's
/// complement, and so differs from it in every byte. Any part can be made by itself.
class Pattern {
public:
  Pattern(std::uint64_t seed, std::uint32_t slot, Direction) noexcept;

  /// The pattern from byte `offset` on, a multiple of 8; from byte `sent` on the poison instead.
  void fill(std::span<std::byte> to, std::size_t offset, std::size_t sent) const noexcept;

private:
  std::uint64_t m_key;
};

} // namespace rdmagpu
