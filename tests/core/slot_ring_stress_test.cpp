// Both sides at full speed over real memory: every frame's bytes are checked, so that a hand-over
// that comes too early is seen, and ThreadSanitizer sees one that orders nothing.
#include <core/slot_ring_fixture.hpp>
#include <support/sanitizer.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace rdmagpu::ringtest {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t frameCount = test::sanitized ? 5'000 : 50'000;
constexpr std::size_t words = 16;
constexpr std::size_t wordBytes = sizeof(std::uint64_t);
using Payload = std::array<std::uint64_t, words>;

std::uint64_t word(std::int64_t frame, std::size_t i) {
  return static_cast<std::uint64_t>(frame) * 0x9e3779b97f4a7c15U + i;
}

void write(Payload& payload, std::int64_t frame, std::size_t from = 0, std::size_t to = words) {
  for(std::size_t i = from; i < to; ++i)
    payload[i] = word(frame, i);
}

std::size_t wrongWords(const Payload& payload, std::int64_t frame, std::size_t from = 0,
                       std::size_t to = words) {
  std::size_t wrong = 0;
  for(std::size_t i = from; i < to; ++i)
    wrong += payload[i] != word(frame, i) ? 1U : 0U;
  return wrong;
}

enum class Waiting : std::uint8_t { Polls, Blocks };

using Setting = std::tuple<RingPolicy, Waiting, Waiting, std::uint32_t>; // producer, consumer, slots

class SlotRingStress : public testing::TestWithParam<Setting> {
protected:
  RingStatus acquire(std::uint32_t& slot) {
    if(std::get<1>(GetParam()) == Waiting::Blocks)
      return ring.acquire(slot, ample);
    RingStatus status{};
    while((status = ring.tryAcquire(slot)) == RingStatus::Empty)
      std::this_thread::yield();
    return status;
  }
  /// Under Newest nothing holds the producer up: without a pause now and then it would take back
  /// nearly every frame before the consumer saw it.
  void pauseAfter(std::int64_t frame) {
    if(policy == RingPolicy::Newest && frame % 3 == 0)
      std::this_thread::yield();
  }
  RingStatus take(RingFrame& frame) {
    if(std::get<2>(GetParam()) == Waiting::Blocks)
      return ring.take(frame, ample);
    RingStatus status{};
    while((status = ring.tryTake(frame)) == RingStatus::Empty)
      std::this_thread::yield();
    return status;
  }

  /// What holds when all is over: no frame came twice or out of order, none vanished without being
  /// counted, and no slot was lost or doubled. The ring was not closed, and the consumer released all.
  void expectNothingLost(std::uint64_t published) {
    while(takeStatus(ring) == RingStatus::Ok)
      FAIL() << "the last frame was not the last";
    const RingCounters counters = ring.counters();
    EXPECT_EQ(counters.published, published);
    EXPECT_EQ(counters.taken + counters.drops, published);
    std::set<std::uint32_t> slots;
    for(std::uint32_t i = 0; i < ring.slotCount(); ++i)
      slots.insert(acquired(ring));
    EXPECT_EQ(slots.size(), ring.slotCount());
    EXPECT_EQ(acquireStatus(ring), RingStatus::Empty);
  }

  const RingPolicy policy = std::get<0>(GetParam());
  SlotRing ring = makeRing(std::get<3>(GetParam()), policy);
  std::vector<Payload> payloads = std::vector<Payload>(ring.slotCount());
};

TEST_P(SlotRingStress, WholeFrames) {
  std::thread producer{[&] {
    for(std::int64_t i = 0; i < frameCount; ++i) {
      std::uint32_t slot{};
      ASSERT_EQ(acquire(slot), RingStatus::Ok);
      write(payloads[slot], i);
      ASSERT_EQ(ring.publish(slot, i, sizeof(Payload)), RingStatus::Ok);
      pauseAfter(i);
    }
  }};
  std::minstd_rand random;
  std::deque<RingFrame> held;
  std::uint64_t next = 0;
  for(std::int64_t i = -1; i != frameCount - 1;) {
    RingFrame frame;
    ASSERT_EQ(take(frame), RingStatus::Ok);
    ASSERT_EQ(wrongWords(payloads[frame.slot], frame.timestamp), 0U);
    ASSERT_EQ(frame.sequence, static_cast<std::uint64_t>(frame.timestamp));
    ASSERT_GE(frame.sequence, next);
    if(policy == RingPolicy::Fifo) {
      ASSERT_EQ(frame.sequence, next);
    }
    next = frame.sequence + 1;
    i = frame.timestamp;
    held.push_back(frame);
    // Always leaves a slot to the producer; gives back in any order.
    while(held.size() + 1 >= ring.slotCount() && !held.empty()) {
      const auto any = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
      ASSERT_EQ(wrongWords(payloads[any->slot], any->timestamp), 0U) << "overwritten while held";
      ASSERT_EQ(ring.release(any->slot), RingStatus::Ok);
      held.erase(any);
    }
  }
  producer.join();
  for(const RingFrame& frame : held)
    ASSERT_EQ(ring.release(frame.slot), RingStatus::Ok);
  expectNothingLost(frameCount);
}

TEST_P(SlotRingStress, PartFilledFrames) {
  constexpr std::size_t slice = 4;
  constexpr std::int64_t frames = frameCount / 4;
  std::thread producer{[&] {
    for(std::int64_t i = 0; i < frames; ++i) {
      std::uint32_t slot{};
      ASSERT_EQ(acquire(slot), RingStatus::Ok);
      ASSERT_EQ(ring.publish(slot, i, sizeof(Payload), 0), RingStatus::Ok);
      for(std::size_t from = 0; from < words; from += slice) {
        write(payloads[slot], i, from, from + slice);
        ASSERT_EQ(ring.advance(slot, (from + slice) * wordBytes), RingStatus::Ok);
      }
      pauseAfter(i);
    }
  }};
  for(std::int64_t i = -1; i != frames - 1;) {
    RingFrame frame;
    ASSERT_EQ(take(frame), RingStatus::Ok);
    i = frame.timestamp;
    ASSERT_EQ(wrongWords(payloads[frame.slot], i, 0, frame.bytesReady / wordBytes), 0U);
    // Every second frame is given back before it is whole.
    const std::size_t wanted = i % 2 != 0 && i != frames - 1 ? words / 2 : words;
    ASSERT_EQ(ring.waitBytes(frame.slot, wanted * wordBytes, ample), RingStatus::Ok);
    ASSERT_EQ(wrongWords(payloads[frame.slot], i, 0, wanted), 0U);
    ASSERT_EQ(ring.release(frame.slot), RingStatus::Ok);
  }
  producer.join();
  expectNothingLost(frames);
}

/// Work on a slot that an engine does later, on its own thread, as a GPU would.
struct Job {
  std::atomic<bool> finished{true};
  std::atomic<bool> told{true};
  Payload* payload{};
  std::int64_t frame{};

  static bool done(void* context) noexcept {
    Job& job = *static_cast<Job*>(context);
    EXPECT_FALSE(job.told.load()) << "asked after it was done";
    const bool finished = job.finished.load(std::memory_order_acquire);
    job.told = finished;
    return finished;
  }
};

/// Does jobs in the order in which they come, each a little late. One thread gives it work.
class Engine {
public:
  template <class Work>
  Engine(SlotRing& ring, std::uint32_t slotCount, Work work)
      : m_jobs(slotCount), m_thread([this, &ring, work] { run(ring, work); }) {}
  ~Engine() {
    m_stop = true;
    m_thread.join();
  }
  RingCompletion start(std::uint32_t slot, Payload& payload, std::int64_t frame) {
    Job& job = m_jobs[slot];
    job.payload = &payload;
    job.frame = frame;
    job.told = false;
    job.finished.store(false, std::memory_order_release);
    return {&job, &Job::done};
  }

private:
  template <class Work>
  void run(SlotRing& ring, Work work) {
    while(!m_stop) {
      for(Job& job : m_jobs) {
        if(job.finished.load(std::memory_order_acquire))
          continue;
        work(job);
        job.finished.store(true, std::memory_order_release);
        ring.notify();
      }
      std::this_thread::yield();
    }
  }

  std::vector<Job> m_jobs;
  std::atomic<bool> m_stop{};
  std::thread m_thread;
};

TEST_P(SlotRingStress, FramesThatEnginesWriteAndRead) {
  constexpr std::int64_t frames = frameCount / 20;
  std::atomic<std::size_t> wrong{};
  std::atomic<std::size_t> read{};
  Engine writing{ring, ring.slotCount(), [](Job& job) { write(*job.payload, job.frame); }};
  Engine reading{ring, ring.slotCount(), [&](Job& job) {
                   wrong += wrongWords(*job.payload, job.frame);
                   ++read;
                 }};
  std::thread producer{[&] {
    for(std::int64_t i = 0; i < frames; ++i) {
      std::uint32_t slot{};
      ASSERT_EQ(acquire(slot), RingStatus::Ok);
      ASSERT_EQ(ring.publish(slot, i, sizeof(Payload), writing.start(slot, payloads[slot], i)),
                RingStatus::Ok);
    }
  }};
  std::size_t taken = 0;
  for(std::int64_t i = -1; i != frames - 1;) {
    RingFrame frame;
    ASSERT_EQ(take(frame), RingStatus::Ok);
    ASSERT_GT(frame.timestamp, i);
    i = frame.timestamp;
    ++taken;
    ASSERT_EQ(ring.release(frame.slot, reading.start(frame.slot, payloads[frame.slot], i)), RingStatus::Ok);
  }
  producer.join();
  // The engines end first; then every slot is free again.
  while(read != taken)
    std::this_thread::yield();
  EXPECT_EQ(wrong, 0U);
  for(std::uint32_t slot{}, i = 0; i < ring.slotCount(); ++i)
    ASSERT_EQ(ring.acquire(slot, ample), RingStatus::Ok);
  EXPECT_EQ(ring.counters().taken, taken);
  EXPECT_EQ(ring.counters().taken + ring.counters().drops, static_cast<std::uint64_t>(frames));
}

TEST_P(SlotRingStress, EndsFromEitherSideAtAnyMoment) {
  const int rounds = test::sanitized ? 50 : 300;
  std::minstd_rand random;
  for(int round = 0; round < rounds; ++round) {
    ring = makeRing(std::get<3>(GetParam()), policy);
    const bool byProducer = random() % 2 == 0;
    const std::int64_t frames = static_cast<std::int64_t>(random() % 50);
    std::thread producer{[&] {
      std::uint32_t slot{};
      for(std::int64_t i = 0; acquire(slot) == RingStatus::Ok; ++i) {
        write(payloads[slot], i);
        if(ring.publish(slot, i, sizeof(Payload)) == RingStatus::Closed)
          break;
        if(byProducer && i == frames)
          ring.closeProducer();
        pauseAfter(i);
      }
    }};
    RingFrame frame{.sequence = ~std::uint64_t{}};
    for(std::int64_t i = 0; take(frame) == RingStatus::Ok; ++i) {
      ASSERT_EQ(wrongWords(payloads[frame.slot], frame.timestamp), 0U);
      ASSERT_EQ(ring.release(frame.slot), RingStatus::Ok);
      if(!byProducer && i == frames)
        ring.closeConsumer();
    }
    producer.join();
    if(byProducer) {
      EXPECT_EQ(frame.timestamp, frames) << "the last frame is always taken";
    }
  }
}

std::string settingName(const testing::TestParamInfo<Setting>& info) {
  const auto& [policy, producer, consumer, slots] = info.param;
  const auto waits = [](Waiting waiting) { return waiting == Waiting::Polls ? "Polls" : "Blocks"; };
  return std::string{policy == RingPolicy::Fifo ? "Fifo" : "Newest"} + "Producer" + waits(producer) +
         "Consumer" + waits(consumer) + std::to_string(slots);
}

INSTANTIATE_TEST_SUITE_P(Each, SlotRingStress,
                         testing::Combine(testing::Values(RingPolicy::Fifo, RingPolicy::Newest),
                                          testing::Values(Waiting::Polls, Waiting::Blocks),
                                          testing::Values(Waiting::Polls, Waiting::Blocks),
                                          testing::Values(1U, 2U, 3U, 8U)),
                         settingName);

} // namespace
} // namespace rdmagpu::ringtest
