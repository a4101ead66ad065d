#pragma once
#include <rdmagpu/slot_ring.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

namespace rdmagpu {

inline void PrintTo(RingStatus status, std::ostream* out) {
  constexpr const char* names[] = {"Ok", "Empty", "Closed", "Misuse"};
  *out << names[static_cast<std::size_t>(status)];
}

namespace ringtest {

/// For waits that must end by themselves: long enough for any machine, and never waited out.
constexpr std::chrono::nanoseconds ample = std::chrono::minutes{5};

inline SlotRing makeRing(std::uint32_t slotCount, RingPolicy policy = RingPolicy::Fifo) {
  Result<SlotRing> ring = SlotRing::make({slotCount, policy});
  EXPECT_TRUE(ring) << ring.error().message();
  return std::move(*ring);
}

inline std::uint32_t acquired(SlotRing& ring) {
  std::uint32_t slot{};
  EXPECT_EQ(ring.tryAcquire(slot), RingStatus::Ok);
  return slot;
}

/// Publishes a whole frame, told apart from others by its time stamp, and returns its slot.
inline std::uint32_t publishNext(SlotRing& ring, std::int64_t timestamp, RingCompletion completion = {}) {
  const std::uint32_t slot = acquired(ring);
  EXPECT_EQ(ring.publish(slot, timestamp, 100, completion), RingStatus::Ok);
  return slot;
}

inline RingFrame taken(SlotRing& ring) {
  RingFrame frame;
  EXPECT_EQ(ring.tryTake(frame), RingStatus::Ok);
  return frame;
}

inline RingStatus acquireStatus(SlotRing& ring) {
  std::uint32_t slot{};
  return ring.tryAcquire(slot);
}

inline RingStatus takeStatus(SlotRing& ring) {
  RingFrame frame;
  return ring.tryTake(frame);
}

/// Work that is done when the test says so. Fails the test when it is asked again after that.
class Work {
public:
  RingCompletion completion() noexcept { return {this, &Work::ask}; }
  void finish() noexcept { m_finished = true; }
  int asked() const noexcept { return m_asked; }

private:
  static bool ask(void* context) noexcept {
    Work& work = *static_cast<Work*>(context);
    EXPECT_FALSE(work.m_told) << "asked after it was done";
    ++work.m_asked;
    const bool finished = work.m_finished;
    work.m_told = finished;
    return finished;
  }

  std::atomic<bool> m_finished{};
  std::atomic<bool> m_told{};
  std::atomic<int> m_asked{};
};

} // namespace ringtest
} // namespace rdmagpu
