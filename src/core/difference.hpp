#pragma once
#include <rdmagpu/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rdmagpu::core {

/// How bytes differ from those of which the first `sent` bytes were sent; the rest is poison.
struct Difference {
  std::size_t first{};
  std::size_t wrong{};
  bool untouched{true}; ///< All of them are poison: the complement of what was sent.

  void add(std::span<const std::byte> found, std::span<const std::byte> expected, std::size_t offset,
           std::size_t sent) noexcept {
    if(found.empty())
      return; // memcmp() takes no null, not even of no bytes
    if(std::memcmp(found.data(), expected.data(), found.size()) == 0) {
      untouched = untouched && offset >= sent;
      return;
    }
    for(std::size_t i = 0; i < found.size(); ++i) {
      untouched = untouched && found[i] == (offset + i < sent ? ~expected[i] : expected[i]);
      if(found[i] != expected[i] && wrong++ == 0)
        first = offset + i;
    }
  }

  VerifyFailure asFailure(std::uint32_t slot, Direction direction) const {
    return {.slot = slot,
            .direction = direction,
            .offset = first,
            .wrongBytes = wrong,
            .untouched = untouched,
            .error = {}};
  }
};

inline Error atSlot(Error error, std::uint32_t slot) noexcept {
  error.slot = static_cast<std::int32_t>(slot);
  return error;
}

} // namespace rdmagpu::core
