// The software peer's thread beside signals, and where the system gives none.
#include <core/software_peer_fixture.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <pthread.h>

namespace rdmagpu {
namespace {

using namespace peertest;

constexpr std::size_t frameBytes = 1000;

TEST(SoftwarePeer, TakesNoSignalsOfTheProcess) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  bool blocked = false;
  Frames source{0, frameBytes, [&](std::uint64_t) {
                  sigset_t mask;
                  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                  blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
                }};
  SoftwarePeer peer = makePeer(buffer);
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_TRUE(blocked);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0) << "the caller's own mask is as it was";
}

/// Makes every start of a thread fail: no address space holds such a stack.
class NoThreads {
public:
  NoThreads() {
    pthread_getattr_default_np(&m_before);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 60), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&m_before);
    pthread_attr_destroy(&m_before);
  }
  NoThreads(NoThreads&&) = delete;

private:
  pthread_attr_t m_before;
};

TEST(SoftwarePeer, ReportsThatTheSystemGivesNoThread) {
  const RdmaGpuBuffer buffer = hostBuffer(1, frameBytes);
  SlotRing ring = makeRing(1);
  Frames source{1, frameBytes};
  SoftwarePeer peer = makePeer(buffer);
  {
    const NoThreads refused;
    const auto started = peer.startCapture(ring, source);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().origin, Origin::Os);
    EXPECT_STREQ(started.error().call, "pthread_create");
  }
  ASSERT_TRUE(peer.startCapture(ring, source));
  peer.wait();
  EXPECT_EQ(peer.counters().frames, 1u);
}

} // namespace
} // namespace rdmagpu
