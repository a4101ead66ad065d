#pragma once
#include <rdmagpu/error.hpp>

#include <cstddef>

namespace rdmagpu::os {

/// Memory mapped into this process; unmapped on destruction. In a forked child, which has a
/// mapping of its own, that unmaps the child's.
class Mapping {
public:
  enum class Pages : unsigned char { Normal, Huge };

  /// Maps `bytes` of `fd` (-1: anonymous memory) for reading and writing, shared, at a multiple of
  /// `alignment`, a power of two. Shared also when anonymous: private pages are copied on write
  /// after a fork, and a peer that has pinned the old ones would go on using those.
  /// `node`: where its pages should be, of which Windows wants to hear now, and Linux by setNode() later; -1:
  /// anywhere.
  static Result<Mapping> make(int fd, std::size_t bytes, std::size_t alignment, Pages, int node = -1);
  Mapping() noexcept = default;
  ~Mapping();
  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;

  std::byte* data() const noexcept { return m_data; }
  std::size_t size() const noexcept { return m_bytes; }

private:
  void* m_reserved{}; // address space around the mapping, kept so that one munmap undoes all
  std::size_t m_reservedBytes{};
  std::byte* m_data{};
  std::size_t m_bytes{};
};

} // namespace rdmagpu::os
