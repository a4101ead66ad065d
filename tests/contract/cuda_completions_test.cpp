#include <contract/cuda_pinned.hpp>
#include <contract/fault.hpp>
#include <rdmagpu/cuda_completions.hpp>
#include <support/log_capture.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rdmagpu::test {
namespace {

CudaCompletions makeCompletions(std::uint32_t slots = 2) {
  static_cast<void>(CudaDriver::instance());
  auto made = CudaCompletions::make(slots);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

bool ask(const RingCompletion& completion) { return completion.done(completion.context); }

/// An event of the caller's, in the context that is current now.
class CallersEvent {
public:
  CallersEvent() {
    EXPECT_EQ(m_cuda.functions.eventCreate(&m_event, api::EventFlags::DisableTiming), api::Status::Success);
  }
  CallersEvent(CallersEvent&&) = delete;
  ~CallersEvent() { EXPECT_EQ(m_cuda.functions.eventDestroy(m_event), api::Status::Success); }
  void record(api::Stream stream) {
    EXPECT_EQ(m_cuda.functions.eventRecord(m_event, stream), api::Status::Success);
  }
  CudaEvent get() const noexcept { return {m_event}; }

private:
  const CudaDriver& m_cuda = CudaDriver::instance();
  api::Event m_event{};
};

/// Work of the caller's own: a copy that it has queued on its stream.
class CudaCompletionsTest : public testing::Test {
protected:
  void SetUp() override {
    buffer = *RdmaGpuBuffer::make(cudaConfig());
    stream.emplace();
  }
  void TearDown() override {
    stream.reset();
    buffer.destroy();
  }
  void startWork() {
    EXPECT_EQ(cuda.memcpyHtoDAsync(addressBits(buffer.handoff(0)), bytes.bytes().data(), 5000, stream->get()),
              api::Status::Success);
  }

  const api::Functions& cuda = CudaDriver::instance().functions;
  PrimaryOf primary{0};
  CurrentContext current{primary.get()};
  PinnedBytes bytes{5000, 1};
  RdmaGpuBuffer buffer;
  std::optional<CallersStream> stream;
};

TEST_F(CudaCompletionsTest, ANullEventIsRefused) {
  auto completions = makeCompletions();
  const auto refused = completions.after(1, CudaEvent{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::InvalidArgument);
  EXPECT_STREQ(refused.error().codeName, "EventNull");
  EXPECT_EQ(refused.error().slot, 1);
  EXPECT_FALSE(refused.error().hints().empty());
}

TEST_F(CudaCompletionsTest, SlotIsHandedOverAfterTheStreamsWork) {
  auto completions = makeCompletions();
  auto ring = SlotRing::make({.slotCount = 2});
  ASSERT_TRUE(ring);
  std::uint32_t slot{};
  for(int i = 0; i < 5; ++i) {
    ASSERT_EQ(ring->acquire(slot, std::chrono::seconds{60}), RingStatus::Ok);
    startWork();
    const auto filled = completions.after(slot, CudaStream{stream->get()});
    ASSERT_TRUE(filled) << filled.error().message();
    ASSERT_EQ(ring->publish(slot, 0, 5000, *filled), RingStatus::Ok);
    RingFrame frame;
    ASSERT_EQ(ring->take(frame, std::chrono::seconds{60}), RingStatus::Ok);
    startWork();
    const auto read = completions.after(frame.slot, CudaStream{stream->get()});
    ASSERT_TRUE(read);
    ASSERT_EQ(ring->release(frame.slot, *read), RingStatus::Ok);
  }
  EXPECT_EQ(cuda.streamSynchronize(stream->get()), api::Status::Success);
}

TEST_F(CudaCompletionsTest, ThreadWithoutAContextMayAsk) {
  auto completions = makeCompletions();
  startWork();
  const auto ofStream = completions.after(0, CudaStream{stream->get()});
  CallersEvent event;
  event.record(stream->get());
  const auto ofEvent = completions.after(1, event.get());
  ASSERT_TRUE(ofStream && ofEvent);
  std::thread{[&] {
    while(!ask(*ofStream) || !ask(*ofEvent))
      std::this_thread::yield();
    EXPECT_EQ(CudaDriver::instance().current(), nullptr);
  }}.join();
  EXPECT_EQ(CudaDriver::instance().current(), primary.get());
}

TEST_F(CudaCompletionsTest, DefaultStreamIsThatOfTheCurrentContext) {
  auto completions = makeCompletions();
  const auto completion = completions.after(0, CudaStream{});
  ASSERT_TRUE(completion) << completion.error().message();
  while(!ask(*completion))
    std::this_thread::yield();
}

TEST_F(CudaCompletionsTest, PerThreadStreamIsThatOfTheCallingThread) {
  auto* const perThread = reinterpret_cast<api::Stream>(api::perThreadStream); // a number in a handle's place
  auto completions = makeCompletions();
  PinnedBytes theirs{5000, 2};
  std::thread{[&] {
    const CurrentContext there{primary.get()};
    EXPECT_EQ(cuda.memcpyHtoDAsync(addressBits(buffer.handoff(1)), theirs.bytes().data(), 5000, perThread),
              api::Status::Success);
  }}.join();
  EXPECT_EQ(cuda.memcpyHtoDAsync(addressBits(buffer.handoff(0)), bytes.bytes().data(), 5000, perThread),
            api::Status::Success);
  const auto completion = completions.after(0, CudaStream{perThread});
  ASSERT_TRUE(completion) << completion.error().message();
  while(!ask(*completion))
    std::this_thread::yield();
  std::vector<std::byte> seen(5000);
  ASSERT_TRUE(buffer.download(0, seen));
  EXPECT_TRUE(seen == bytes.bytes());
  if(CudaStandin::find()) { // which executes what is waited for, and nothing else
    ASSERT_TRUE(buffer.download(1, seen));
    EXPECT_FALSE(seen == theirs.bytes()) << "another thread's work is not waited for";
  }
  EXPECT_EQ(CudaDriver::instance().ctxSynchronize(), api::Status::Success);
}

TEST_F(CudaCompletionsTest, StreamsOfTwoGpusMayFollowOneAnother) {
  if(CudaDriver::instance().deviceCount() < 2)
    GTEST_SKIP() << "this machine has one GPU";
  auto completions = makeCompletions();
  const PrimaryOf other{1};
  std::optional<CallersStream> otherStream;
  {
    const CurrentContext there{other.get()};
    otherStream.emplace();
  }
  for(const api::Stream of : {stream->get(), otherStream->get(), stream->get()}) {
    const auto completion = completions.after(0, CudaStream{of});
    ASSERT_TRUE(completion) << completion.error().message();
    while(!ask(*completion))
      std::this_thread::yield();
    EXPECT_EQ(CudaDriver::instance().current(), primary.get());
  }
}

TEST_F(CudaCompletionsTest, ForkedChildIsTold) {
  auto completions = makeCompletions();
  const auto earlier = completions.after(0, CudaStream{stream->get()});
  ASSERT_TRUE(earlier);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const auto refused = [](const Error& error) { return std::string_view{error.codeName} == "ForkedChild"; };
    int failures = refused(completions.after(1, CudaStream{}).error()) ? 0 : 1;
    failures |= refused(completions.after(1, CudaEvent{}).error()) ? 0 : 2;
    failures |= ask(*earlier) ? 0 : 4; // nobody waits for what cannot be asked
    { const CudaCompletions gone{std::move(completions)}; }
    _exit(failures);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CudaCompletionsMake, BadArgumentsAreRefused) {
  EXPECT_STREQ(CudaCompletions::make(0).error().codeName, "SlotCountZero");
  auto completions = makeCompletions(2);
  EXPECT_STREQ(completions.after(2, CudaStream{}).error().codeName, "SlotOutOfRange");
  EXPECT_STREQ(completions.after(2, CudaEvent{}).error().codeName, "SlotOutOfRange");
  const CudaCompletions taken{std::move(completions)};
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what is tested
  EXPECT_STREQ(completions.after(0, CudaStream{}).error().codeName, "SlotOutOfRange");
}

TEST(CudaCompletionsMake, DefaultStreamWithoutACurrentContextIsRefusedAsThat) {
  auto completions = makeCompletions(2);
  for(const std::uintptr_t handle : {0U, 1U, 2U}) { // a number in a handle's place
    const auto refused = completions.after(1, CudaStream{reinterpret_cast<void*>(handle)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Errc::InvalidArgument);
    EXPECT_STREQ(refused.error().codeName, "ContextNotCurrent");
    EXPECT_EQ(refused.error().slot, 1);
    ASSERT_FALSE(refused.error().hints().empty());
    EXPECT_EQ(std::string{refused.error().hints().front()}.find("cuCtxDestroy"), std::string::npos);
  }
}

TEST(CudaCompletionsMake, TouchesNoGpu) {
  const auto completions = makeCompletions();
  EXPECT_FALSE(CudaDriver::instance().primaryIsActive());
}

class CudaCompletionsOnStandin : public OnCudaStandin {};

TEST_F(CudaCompletionsOnStandin, NotDoneBeforeTheWorkIs) {
  const PrimaryOf primary{0};
  const CurrentContext current{primary.get()};
  const CallersStream stream;
  auto completions = makeCompletions();
  standin->questionsUntilDone(3);
  CallersEvent event;
  event.record(stream.get());
  for(const auto& completion :
      {completions.after(0, event.get()), completions.after(1, CudaStream{stream.get()})}) {
    ASSERT_TRUE(completion);
    for(int i = 0; i < 3; ++i)
      EXPECT_FALSE(ask(*completion));
    EXPECT_TRUE(ask(*completion));
  }
}

TEST_F(CudaCompletionsOnStandin, EventOfASlotIsMadeOnce) {
  const PrimaryOf primary{0};
  const CurrentContext current{primary.get()};
  const CallersStream stream;
  auto completions = makeCompletions();
  standin->failCall(0); // counts anew
  for(int i = 0; i < 5; ++i)
    ASSERT_TRUE(completions.after(0, CudaStream{stream.get()}));
  EXPECT_EQ(standin->calls("cuEventCreate"), 1);
  EXPECT_EQ(standin->calls("cuEventRecord"), 5);
}

TEST_F(CudaCompletionsOnStandin, EveryCallFailsOnce) {
  const PrimaryOf primary{0};
  std::optional<CallersStream> stream;
  std::optional<CallersEvent> event;
  {
    const CurrentContext current{primary.get()};
    stream.emplace();
    event.emplace();
  }
  for(int n = 1;; ++n) {
    const std::string before = standin->ledger();
    const LogCapture log;
    standin->failCall(n);
    Outcome outcome;
    {
      auto made = CudaCompletions::make(2);
      const auto ofStream = made ? made->after(0, CudaStream{stream->get()}) : made.error();
      const auto ofEvent = made ? made->after(1, event->get()) : made.error();
      if(!ofStream)
        outcome.result = ofStream.error();
      else if(!ofEvent)
        outcome.result = ofEvent.error();
      for(const auto& completion : {ofStream, ofEvent}) {
        for(int i = 0; completion && !ask(*completion); ++i)
          ASSERT_LT(i, 10);
      }
    }
    const std::string failed = standin->failedCall();
    standin->failCall(0);
    ASSERT_EQ(standin->ledger(), before) << "left over after failing " << failed;
    outcome.survived = log.errors();
    if(failed.empty()) {
      EXPECT_GT(n, 5);
      EXPECT_TRUE(outcome.result) << outcome.result.error().message();
      break;
    }
    ASSERT_TRUE(shows(failed, outcome)) << "swallowed a failed " << failed;
  }
  const CurrentContext current{primary.get()};
  event.reset();
  stream.reset();
}

} // namespace
} // namespace rdmagpu::test
