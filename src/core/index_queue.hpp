#pragma once
#include <core/cache_line.hpp>

#include <atomic>
#include <bit>
#include <cstdint>

namespace rdmagpu {

/// Slot numbers on their way from one side to the other, in order. One thread pushes. Either one
/// thread pops, with front() and popFront(), or several do, with claim(). It has a cell for each
/// slot and a slot is in it once at most, so a push cannot fail and needs no look at the head.
class IndexQueue {
public:
  using Position = std::uint64_t; ///< Counts pushes and pops from 0; never wraps in practice.

  explicit IndexQueue(std::uint32_t slotCount)
      : m_mask(std::bit_ceil(std::uint64_t{slotCount}) - 1), m_cells(m_mask + 1) {}

  /// Sequentially consistent, as WakeGate wants it.
  void push(std::uint32_t slot) noexcept {
    const Position tail = m_tail.load(std::memory_order_relaxed);
    m_cells[tail & m_mask].store(slot, std::memory_order_relaxed);
    m_tail.store(tail + 1, std::memory_order_seq_cst);
  }

  /// The oldest; false when there is none.
  bool front(std::uint32_t& slot) noexcept {
    const Position first = m_head.load(std::memory_order_relaxed);
    if(first == m_knownTail) {
      m_knownTail = tail();
      if(first == m_knownTail)
        return false;
    }
    slot = at(first);
    return true;
  }
  void popFront() noexcept {
    m_head.store(m_head.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  Position head() const noexcept { return m_head.load(std::memory_order_acquire); }
  Position tail() const noexcept { return m_tail.load(std::memory_order_seq_cst); }
  /// True only if `position` is between head and tail; else a number that was there once, or will be.
  std::uint32_t at(Position position) const noexcept {
    return m_cells[position & m_mask].load(std::memory_order_relaxed);
  }
  /// Pops [from, to) if the head is still `from`. The cells of that range stay as they are until the
  /// first of their slots is pushed again.
  bool claim(Position from, Position to) noexcept {
    return m_head.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

private:
  const std::uint64_t m_mask;
  LineArray<std::atomic<std::uint32_t>> m_cells;
  alignas(cacheLine) std::atomic<Position> m_head{};
  Position m_knownTail{}; ///< As the one popping thread saw it last: spares it the other side's cache line.
  alignas(cacheLine) std::atomic<Position> m_tail{};
};

} // namespace rdmagpu
