// Nothing but StagedBuffer::make() allocates, on whatever thread. A program of its own, because it replaces
// operator new (counted_new.cpp).
#include <core/staged_buffer_fixture.hpp>
#include <support/counted_new.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>

namespace rdmagpu::stagedtest {
namespace {

constexpr std::uint64_t frames = 3000;
constexpr std::size_t steadyBytes = 20'001;
constexpr std::size_t partBytes = 8192; // copied at once, since it is two of the slices
/// Longer than the thread polls: it sleeps, and is woken.
constexpr std::chrono::milliseconds pause{4};

bool always(void*) noexcept { return true; }
constexpr RingCompletion doneAtOnce{nullptr, &always};

using Case = std::tuple<SlotPath, SlotFlow, RingPolicy>;

/// Both sides of the ring, which see no more than the bytes of their own slots.
class StagedSteady : public testing::TestWithParam<Case> {
protected:
  static StagedBuffer make() {
    const auto [path, flow, policy] = GetParam();
    auto config = hostConfig(path, flow);
    config.buffer.frameBytes = steadyBytes;
    config.policy = policy;
    config.sliceBytes = partBytes / 2;
    if(flow == SlotFlow::Capture)
      config.proof.emplace();
    return makeStaged(config);
  }
  static int valueOf(std::uint64_t n) noexcept { return static_cast<int>(1 + n % 255); }

  std::byte* produced(std::uint32_t slot) const { return bytesOf(m_captures, slot); }
  bool holds(std::uint32_t slot, std::size_t from, std::size_t to, std::uint64_t n) const {
    const std::byte* const bytes = bytesOf(!m_captures, slot);
    const auto value = static_cast<std::byte>(valueOf(n));
    return bytes[from] == value && bytes[to - 1] == value;
  }

  // These say whether all went well, since GoogleTest's own assertions may allocate.
  bool publishWhole(std::uint64_t n) {
    std::uint32_t slot{};
    if(ring.acquire(slot, ample) != RingStatus::Ok)
      return false;
    std::memset(produced(slot), valueOf(n), steadyBytes);
    return ring.publish(slot, 0, steadyBytes, n % 2 ? doneAtOnce : RingCompletion{}) == RingStatus::Ok;
  }
  bool takeWhole(std::uint64_t n) {
    RingFrame frame;
    return ring.take(frame, ample) == RingStatus::Ok && frame.sequence == n &&
           holds(frame.slot, 0, steadyBytes, n) &&
           ring.release(frame.slot, n % 2 ? doneAtOnce : RingCompletion{}) == RingStatus::Ok;
  }
  bool passInParts(std::uint64_t n) {
    std::uint32_t slot{};
    RingFrame frame;
    if(ring.acquire(slot, ample) != RingStatus::Ok)
      return false;
    for(std::size_t from = 0; from < steadyBytes; from += partBytes) {
      const std::size_t to = std::min(from + partBytes, steadyBytes);
      std::memset(produced(slot) + from, valueOf(n), to - from);
      const bool sent = from == 0 ? ring.publish(slot, 0, steadyBytes, to) == RingStatus::Ok &&
                                        ring.take(frame, ample) == RingStatus::Ok && frame.sequence == n
                                  : ring.advance(slot, to) == RingStatus::Ok;
      if(!sent || ring.waitBytes(frame.slot, to, ample) != RingStatus::Ok || !holds(frame.slot, from, to, n))
        return false;
    }
    return ring.release(frame.slot) == RingStatus::Ok;
  }

  StagedBuffer staged = make();
  SlotRing& ring = staged.ring();

private:
  std::byte* bytesOf(bool peers, std::uint32_t slot) const {
    const RdmaGpuBuffer& buffer = peers ? staged.peerBuffer() : staged.applicationBuffer();
    return static_cast<std::byte*>(cpuAddress(buffer.handoff(slot)));
  }
  const bool m_captures = std::get<SlotFlow>(GetParam()) == SlotFlow::Capture;
};

std::string caseName(const testing::TestParamInfo<Case>& tested) {
  const auto [path, flow, policy] = tested.param;
  return std::string{path == SlotPath::Staged ? "Staged" : "Direct"} +
         (flow == SlotFlow::Capture ? "Capture" : "Playout") +
         (policy == RingPolicy::Fifo ? "Fifo" : "Newest");
}

INSTANTIATE_TEST_SUITE_P(Host, StagedSteady,
                         testing::Combine(testing::Values(SlotPath::Staged, SlotPath::Direct),
                                          testing::Values(SlotFlow::Capture, SlotFlow::Playout),
                                          testing::Values(RingPolicy::Fifo, RingPolicy::Newest)),
                         caseName);

TEST_P(StagedSteady, WholeFramesAllocateNothing) {
  const std::uint64_t before = test::allocations;
  // Under Newest a frame would make the one before it go.
  const std::uint64_t atOnce = ring.policy() == RingPolicy::Fifo ? staged.peerBuffer().slotCount() : 1;
  for(std::uint64_t n = 0; n < frames; n += atOnce) {
    for(std::uint64_t i = n; i < n + atOnce; ++i)
      ASSERT_TRUE(publishWhole(i));
    for(std::uint64_t i = n; i < n + atOnce; ++i)
      ASSERT_TRUE(takeWhole(i));
    if(n % 600 == 0)
      std::this_thread::sleep_for(pause);
  }
  staged.close();
  EXPECT_EQ(test::allocations, before);
  EXPECT_EQ(staged.error().kind, Errc::None);
  EXPECT_EQ(staged.proofCounters().value_or(FrameProofCounters{}).faults(), 0U);
}

TEST_P(StagedSteady, FramesInPartsAllocateNothing) {
  const std::uint64_t before = test::allocations;
  for(std::uint64_t n = 0; n < frames; ++n) {
    ASSERT_TRUE(passInParts(n));
    if(n % 600 == 0)
      std::this_thread::sleep_for(pause);
  }
  staged.close();
  EXPECT_EQ(test::allocations, before);
  EXPECT_EQ(staged.error().kind, Errc::None);
  EXPECT_EQ(staged.proofCounters().value_or(FrameProofCounters{}).faults(), 0U);
}

/// Shows that the counter sees other threads.
TEST(StagedSteadyCounter, CountsTheAllocationsOfEveryThread) {
  const std::uint64_t before = test::allocations;
  std::uint64_t inThread{};
  std::thread{[&] {
    inThread = test::allocations;
    delete new Bytes(10);
    inThread = test::allocations - inThread;
  }}.join();
  EXPECT_GE(inThread, 1U);
  EXPECT_GT(test::allocations, before);
}

} // namespace
} // namespace rdmagpu::stagedtest
