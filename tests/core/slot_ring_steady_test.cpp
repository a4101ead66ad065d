// What the ring asks of the system: memory in make() and nowhere else, and system calls only to wait
// or to wake one who waits. A program of its own, because it replaces operator new (counted_new.cpp).
#include <core/slot_ring_fixture.hpp>
#include <support/counted_new.hpp>
#include <support/sanitizer.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmagpu::ringtest {
namespace {

using test::allocations;
using test::failing;
using test::live;

constexpr int handOvers = 100'000;
/// Enough for a side that polls to get a good way on one processor, where the other must be scheduled
/// first: yielding would be a system call.
constexpr std::uint32_t slotCount = 256;

bool always(void*) noexcept { return true; }
constexpr RingCompletion doneAtOnce{nullptr, &always};

bool produce(SlotRing& ring) {
  std::uint32_t slot{};
  return ring.tryAcquire(slot) == RingStatus::Ok &&
         ring.publish(slot, 1, 2, 1, doneAtOnce) == RingStatus::Ok && ring.advance(slot, 2) == RingStatus::Ok;
}

bool consume(SlotRing& ring) {
  RingFrame frame;
  return ring.tryTake(frame) == RingStatus::Ok && ring.bytesReady(frame.slot) > 0 &&
         ring.release(frame.slot, doneAtOnce) == RingStatus::Ok;
}

TEST(SlotRingMemory, EachAllocationThatFailsIsAnErrorAndLeaksNothing) {
  for(std::uint64_t n = 1;; ++n) {
    const std::int64_t before = live;
    allocations = 0;
    failing = n;
    const bool made = [] {
      const Result<SlotRing> ring = SlotRing::make({8, RingPolicy::Newest});
      failing = 0;
      if(ring)
        return true;
      EXPECT_THAT(ring.error(),
                  testing::AllOf(testing::Field(&Error::kind, Errc::OutOfMemory),
                                 testing::Field(&Error::call, testing::StrEq("SlotRing::make"))));
      return false;
    }();
    EXPECT_EQ(live, before);
    if(made) {
      EXPECT_GT(n, 1U) << "no allocation was made to fail";
      return;
    }
  }
}

TEST(SlotRingMemory, OnlyMakeAllocates) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    SlotRing ring = makeRing(4, policy);
    const std::uint64_t before = allocations;
    for(int i = 0; i < handOvers; ++i) {
      ASSERT_TRUE(produce(ring));
      ASSERT_TRUE(consume(ring));
    }
    RingFrame frame;
    EXPECT_EQ(ring.take(frame, std::chrono::milliseconds{1}), RingStatus::Empty);
    ring.countDrop();
    ring.countUnderrun();
    ring.notify();
    ring.closeProducer();
    ring.closeConsumer();
    EXPECT_EQ(ring.counters().taken, static_cast<std::uint64_t>(handOvers));
    EXPECT_EQ(allocations, before);
  }
}

/// From here on any system call of this thread but the one that ends the process kills it.
bool forbidSystemCalls() noexcept {
  constexpr auto number = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

enum Outcome : int { Passed = 0, Failed = 1, NoFilter = 2, Killed = 3 };

/// Ends the process. AddressSanitizer makes system calls of its own in _exit(), and before a call of
/// anything that is declared not to return.
void leave(Outcome outcome) noexcept { ::syscall(SYS_exit_group, outcome); }

/// Runs `body` in a child process, which must end it with leave().
template <class Body>
Outcome inChild(Body body) {
  const pid_t child = ::fork();
  if(child == 0) {
    body();
    leave(Failed);
  }
  int status{};
  while(::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if(WIFSIGNALED(status))
    return WTERMSIG(status) == SIGSYS ? Killed : Failed;
  return static_cast<Outcome>(WEXITSTATUS(status));
}

class SlotRingSystemCalls : public testing::Test {
protected:
  void SetUp() override {
    const char* preloaded = std::getenv("LD_PRELOAD");
    if(test::threadSanitizer)
      GTEST_SKIP() << "ThreadSanitizer makes system calls of its own";
    if(preloaded && std::string_view{preloaded}.find("vgpreload") != std::string_view::npos)
      GTEST_SKIP() << "valgrind makes system calls of its own";
    if(inChild([] { leave(forbidSystemCalls() ? Passed : NoFilter); }) == NoFilter)
      GTEST_SKIP() << "this system takes no seccomp filter";
  }
};

/// The polling steady state, with each side on its own thread, neither of which may make a call.
void pollOnTwoThreads(SlotRing& ring) {
  std::atomic<bool> consumerReady{};
  std::atomic<bool> consumerDone{};
  const bool newest = ring.policy() == RingPolicy::Newest;
  std::thread consumer{[&] {
    if(!forbidSystemCalls())
      leave(NoFilter);
    consumerReady = true;
    // Under Newest frames are dropped: what counts is that every frame published is accounted for.
    for(int i = 0; i < handOvers;) {
      i += consume(ring) ? 1 : 0;
      if(newest)
        i = static_cast<int>(ring.counters().taken + ring.counters().drops);
    }
    consumerDone = true;
    while(
        consumerDone) { // a thread cannot end without a system call; a loop without any effect may be removed
    }
  }};
  while(!consumerReady) {
  }
  if(!forbidSystemCalls())
    leave(NoFilter);
  for(int i = 0; i < handOvers;)
    i += produce(ring) ? 1 : 0;
  while(!consumerDone) {
  }
  leave(Passed);
}

TEST_F(SlotRingSystemCalls, ThePollingSteadyStateMakesNone) {
  for(const RingPolicy policy : {RingPolicy::Fifo, RingPolicy::Newest}) {
    EXPECT_EQ(inChild([&] {
                SlotRing ring = makeRing(slotCount, policy);
                pollOnTwoThreads(ring);
              }),
              Passed);
  }
}

TEST_F(SlotRingSystemCalls, NoneIsMadeForASideThatSleptBeforeButDoesNotNow) {
  EXPECT_EQ(inChild([] {
              SlotRing ring = makeRing(slotCount);
              RingFrame frame;
              std::uint32_t slot{};
              ring.take(frame, std::chrono::milliseconds{5});
              while(ring.acquire(slot, std::chrono::milliseconds{5}) == RingStatus::Ok) {
              }
              for(slot = 0; slot < slotCount; ++slot)
                ring.abandon(slot);
              pollOnTwoThreads(ring);
            }),
            Passed);
}

TEST_F(SlotRingSystemCalls, AFrameThatIsThereIsTakenWithoutOne) {
  EXPECT_EQ(inChild([] {
              SlotRing ring = makeRing(1);
              if(!forbidSystemCalls())
                leave(NoFilter);
              std::uint32_t slot{};
              RingFrame frame;
              const bool ok = ring.acquire(slot, ample) == RingStatus::Ok &&
                              ring.publish(slot, 1, 1) == RingStatus::Ok &&
                              ring.take(frame, ample) == RingStatus::Ok &&
                              ring.waitBytes(slot, 1, ample) == RingStatus::Ok;
              leave(ok ? Passed : Failed);
            }),
            Passed);
}

/// Shows that the filter sees the ring's system calls.
TEST_F(SlotRingSystemCalls, WaitingMakesOne) {
  EXPECT_EQ(inChild([] {
              SlotRing ring = makeRing(1);
              if(!forbidSystemCalls())
                leave(NoFilter);
              RingFrame frame;
              ring.take(frame, std::chrono::milliseconds{50});
              leave(Passed);
            }),
            Killed);
}

} // namespace
} // namespace rdmagpu::ringtest
