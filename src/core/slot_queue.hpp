#pragma once
#include <core/cache_line.hpp>

#include <atomic>
#include <bit>
#include <cstdint>

namespace rdmagpu {

/// Slots on their way from one side to the other, in order; a cell describes one. One thread pushes.
/// Either one thread pops, with front() and pop(), or several do, with claim().
///
/// It has a cell for each slot, and a slot is in it once at most. So a push cannot fail and needs no
/// look at the head. A cell at or behind the head is not written to; one that was popped may be, at
/// once if the pushing side pops too.
template <class Cell>
class SlotQueue {
public:
  using Position = std::uint64_t; ///< Counts pushes, and pops, from 0; does not wrap in a lifetime.

  explicit SlotQueue(std::uint32_t slotCount)
      : m_mask(std::bit_ceil(std::uint64_t{slotCount}) - 1), m_cells(m_mask + 1) {}

  /// The cell to fill before push().
  Cell& back() noexcept { return at(m_tail.load(std::memory_order_relaxed)); }
  void push() noexcept {
    m_tail.store(m_tail.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// The oldest, or null when there is none.
  const Cell* front() noexcept {
    const Position head = m_head.load(std::memory_order_relaxed);
    if(head == m_knownTail) {
      m_knownTail = tail();
      if(head == m_knownTail)
        return nullptr;
    }
    return &at(head);
  }
  void pop() noexcept { m_head.store(m_head.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  Position head() const noexcept { return m_head.load(std::memory_order_acquire); }
  Position tail() const noexcept { return m_tail.load(std::memory_order_acquire); }
  /// Before it is claimed, a cell may be popped, and filled again, at any moment.
  Cell& at(Position position) noexcept { return m_cells[position & m_mask]; }
  /// Pops the cell at `head` if it is still the oldest.
  bool claim(Position head) noexcept {
    return m_head.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
  }

private:
  const std::uint64_t m_mask;
  LineArray<Cell> m_cells;
  alignas(cacheLine) std::atomic<Position> m_head{};
  Position m_knownTail{}; ///< As the one popping thread saw it last: spares it the other side's cache line.
  alignas(cacheLine) std::atomic<Position> m_tail{};
};

} // namespace rdmagpu
