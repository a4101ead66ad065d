#include <contract/copy_contract.hpp>
#include <contract/cuda_pinned.hpp>
#include <support/log_capture.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rdmagpu::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, CopyContract,
                         testing::Values(cudaConfig(CudaMemory::Vmm), cudaConfig(CudaMemory::MemAlloc)),
                         [](const auto& tested) {
                           return tested.param.cudaMemory == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

RdmaGpuBuffer makeBuffer(CudaMemory memory = CudaMemory::Auto) {
  auto buffer = RdmaGpuBuffer::make(cudaConfig(memory));
  EXPECT_TRUE(buffer) << buffer.error().message();
  return *std::move(buffer);
}

CopyQueue makeQueue(const RdmaGpuBuffer& buffer, const CopyQueueOptions& options = {}) {
  auto queue = CopyQueue::make(buffer, options);
  EXPECT_TRUE(queue) << queue.error().message();
  return *std::move(queue);
}

/// Invariant: the caller's current context is the same after every call.
class CudaCopyContext : public testing::TestWithParam<CudaMemory> {
protected:
  void SetUp() override { ASSERT_EQ(cuda.current(), nullptr); }
  void TearDown() override { EXPECT_EQ(cuda.current(), nullptr); }

  void useAll(const RdmaGpuBuffer& buffer, const CopyQueueOptions& options, api::Context expected) {
    PinnedBytes bytes{5000, 1};
    {
      auto queue = makeQueue(buffer, options);
      EXPECT_EQ(cuda.current(), expected);
      const auto up = queue.upload(1, bytes.span());
      ASSERT_TRUE(up) << up.error().message();
      EXPECT_EQ(cuda.current(), expected);
      while(!up->done())
        EXPECT_EQ(cuda.current(), expected);
      const auto down = queue.download(1, bytes.span());
      ASSERT_TRUE(down) << down.error().message();
      EXPECT_TRUE(down->wait());
      EXPECT_EQ(cuda.current(), expected);
      EXPECT_TRUE(queue.upload(2, bytes.span()));
      EXPECT_TRUE(queue.finish());
      EXPECT_TRUE(queue.upload(2, bytes.span()));
      EXPECT_EQ(cuda.current(), expected);
    }
    EXPECT_EQ(cuda.current(), expected);
  }

  const CudaDriver& cuda = CudaDriver::instance();
};

INSTANTIATE_TEST_SUITE_P(Cuda, CudaCopyContext, testing::Values(CudaMemory::Vmm, CudaMemory::MemAlloc),
                         [](const auto& tested) {
                           return tested.param == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

TEST_P(CudaCopyContext, NoneStaysNoneAndNothingKeepsThePrimary) {
  {
    const auto buffer = makeBuffer(GetParam());
    useAll(buffer, {}, nullptr);
  }
  EXPECT_FALSE(cuda.primaryIsActive());
}

TEST_P(CudaCopyContext, CallersOwnIsUsedAndStays) {
  const PrimaryOf own{0};
  const CurrentContext current{own.get()};
  useAll(makeBuffer(GetParam()), {}, own.get());
}

TEST_P(CudaCopyContext, OneOfAnotherGpuStays) {
  if(cuda.deviceCount() < 2)
    GTEST_SKIP() << "this machine has one GPU";
  const PrimaryOf other{1};
  const CurrentContext current{other.get()};
  useAll(makeBuffer(GetParam()), {}, other.get());
}

TEST_P(CudaCopyContext, CallersStreamCarriesTheCopies) {
  const PrimaryOf own{0};
  const auto buffer = makeBuffer(GetParam());
  std::optional<CallersStream> stream;
  {
    const CurrentContext current{own.get()};
    stream.emplace();
  }
  useAll(buffer, {.stream = CudaStream{stream->get()}}, nullptr);
  const CurrentContext current{own.get()};
  useAll(buffer, {.stream = CudaStream{stream->get()}}, own.get());
  stream.reset();
}

TEST_P(CudaCopyContext, CallersDefaultStreamCarriesTheCopies) {
  const auto buffer = makeBuffer(GetParam());
  useAll(buffer, {.stream = CudaStream{}}, nullptr);
}

TEST_P(CudaCopyContext, LegacyStreamIsTheDefaultOne) {
  const auto buffer = makeBuffer(GetParam());
  const CudaStream legacy{reinterpret_cast<void*>(api::legacyStream)}; // a number in a handle's place
  useAll(buffer, {.stream = legacy}, nullptr);
}

TEST(CudaCopy, StreamThatIsAnotherOneForEachThreadIsRefused) {
  const auto buffer = makeBuffer();
  const CudaStream perThread{reinterpret_cast<void*>(api::perThreadStream)};
  const auto queue = CopyQueue::make(buffer, {.stream = perThread});
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().kind, Errc::InvalidArgument);
  EXPECT_STREQ(queue.error().codeName, "StreamPerThread");
  EXPECT_FALSE(queue.error().hints().empty());
}

TEST(CudaCopy, StreamOfAnotherGpuIsRefused) {
  if(CudaDriver::instance().deviceCount() < 2)
    GTEST_SKIP() << "this machine has one GPU";
  const auto buffer = makeBuffer();
  const PrimaryOf other{1};
  const CurrentContext current{other.get()};
  const CallersStream stream;
  const auto queue = CopyQueue::make(buffer, {.stream = CudaStream{stream.get()}});
  ASSERT_FALSE(queue);
  EXPECT_STREQ(queue.error().codeName, "StreamOfOtherGpu");
}

TEST(CudaCopy, WorkOfTheCallersStreamComesFirst) {
  const auto& cuda = CudaDriver::instance().functions;
  const PrimaryOf own{0};
  const CurrentContext current{own.get()};
  const auto buffer = makeBuffer();
  const CallersStream stream;
  PinnedBytes theirs{5000, 1};
  PinnedBytes received{5000, 2};
  auto queue = makeQueue(buffer, {.stream = CudaStream{stream.get()}});
  ASSERT_EQ(cuda.memcpyHtoDAsync(addressBits(buffer.handoff(2)), theirs.bytes().data(), 5000, stream.get()),
            api::Status::Success);
  const auto copy = queue.download(2, received.span());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->wait());
  EXPECT_TRUE(received.bytes() == theirs.bytes());
}

/// What the driver does not document: a ring asks from threads that have no context.
TEST(CudaCopy, EventsAnswerWithoutACurrentContext) {
  const auto& cuda = CudaDriver::instance().functions;
  const PrimaryOf own{0};
  api::Event event{};
  {
    const CurrentContext current{own.get()};
    ASSERT_EQ(cuda.eventCreate(&event, api::EventFlags::DisableTiming), api::Status::Success);
  }
  EXPECT_EQ(cuda.eventQuery(event), api::Status::Success) << "one that was never recorded is done";
  EXPECT_EQ(cuda.eventSynchronize(event), api::Status::Success);
  EXPECT_EQ(cuda.eventDestroy(event), api::Status::Success);
}

TEST(CudaCopy, ForkedChildNeitherCopiesNorWaits) {
  auto buffer = makeBuffer();
  PinnedBytes bytes{5000, 1};
  auto queue = makeQueue(buffer);
  const auto copy = queue.upload(0, bytes.span());
  ASSERT_TRUE(copy);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if(child == 0) {
    const auto refused = [](const Error& error) { return std::string_view{error.codeName} == "ForkedChild"; };
    int failures = refused(queue.upload(0, bytes.span()).error()) ? 0 : 1;
    failures |= refused(CopyQueue::make(buffer).error()) ? 0 : 2;
    failures |= refused(copy->wait().error()) ? 0 : 4;
    { const CopyQueue gone{std::move(queue)}; }
    buffer.destroy();
    _exit(failures);
  }
  int status{};
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(copy->wait());
  EXPECT_TRUE(queue.finish());
}

class CudaCopyOnStandin : public OnCudaStandin {};

TEST_F(CudaCopyOnStandin, CopyIsNotDoneWhenItsCallReturns) {
  standin->questionsUntilDone(-1);
  const auto buffer = makeBuffer();
  PinnedBytes sent{5000, 3};
  PinnedBytes received{5000, 4};
  auto queue = makeQueue(buffer);
  const auto up = queue.upload(0, sent.span());
  ASSERT_TRUE(up);
  for(int i = 0; i < 10; ++i)
    EXPECT_FALSE(up->done());
  const auto down = queue.download(0, received.span());
  ASSERT_TRUE(down);
  EXPECT_TRUE(received.bytes() != sent.bytes());
  EXPECT_TRUE(down->wait());
  EXPECT_TRUE(received.bytes() == sent.bytes());
  EXPECT_TRUE(up->wait());
}

TEST_F(CudaCopyOnStandin, SlotChangesHandsWhenTheCopyIsDone) {
  const auto buffer = makeBuffer();
  PinnedBytes sent{5000, 3};
  auto queue = makeQueue(buffer);
  auto ring = SlotRing::make({.slotCount = 2});
  ASSERT_TRUE(ring);
  std::uint32_t slot{};
  ASSERT_EQ(ring->tryAcquire(slot), RingStatus::Ok);
  standin->questionsUntilDone(5);
  const auto copy = queue.upload(slot, sent.span());
  ASSERT_TRUE(copy);
  ASSERT_EQ(ring->publish(slot, 0, 5000, copy->completion()), RingStatus::Ok);
  RingFrame frame;
  for(int i = 0; i < 5; ++i)
    EXPECT_EQ(ring->tryTake(frame), RingStatus::Empty);
  EXPECT_EQ(ring->tryTake(frame), RingStatus::Ok);
  EXPECT_TRUE(copy->done());

  const auto back = queue.download(frame.slot, sent.span());
  ASSERT_TRUE(back);
  ASSERT_EQ(ring->release(frame.slot, back->completion()), RingStatus::Ok);
  std::uint32_t other{};
  ASSERT_EQ(ring->tryAcquire(other), RingStatus::Ok);
  EXPECT_NE(other, slot);
  EXPECT_TRUE(back->wait());
  EXPECT_EQ(ring->tryAcquire(other), RingStatus::Ok);
  EXPECT_EQ(other, slot);
}

TEST_F(CudaCopyOnStandin, CompletionCoversLaterCopiesOfTheSlot) {
  const auto buffer = makeBuffer();
  PinnedBytes bytes{5000};
  auto queue = makeQueue(buffer);
  const auto first = queue.upload(0, bytes.span());
  standin->questionsUntilDone(-1);
  const auto second = queue.upload(0, bytes.span(), 5000);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->wait());
  const RingCompletion completion = first->completion();
  EXPECT_FALSE(completion.done(completion.context));
  EXPECT_TRUE(second->wait());
  EXPECT_TRUE(completion.done(completion.context));
}

TEST_F(CudaCopyOnStandin, SlotsGoToTheStreamsByTurns) {
  const auto buffer = makeBuffer();
  PinnedBytes bytes{5000};
  auto queue = makeQueue(buffer, {.streams = 2});
  EXPECT_EQ(standin->calls("cuStreamCreate"), 2);
  standin->questionsUntilDone(-1);
  const auto first = queue.upload(0, bytes.span());
  const auto second = queue.upload(1, bytes.span());
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(second->wait());
  EXPECT_FALSE(first->done()) << "waiting for one stream does not finish the other";
  EXPECT_TRUE(first->wait());
}

TEST_F(CudaCopyOnStandin, SteadyStateMakesNothing) {
  const auto buffer = makeBuffer();
  PinnedBytes bytes{5000};
  auto queue = makeQueue(buffer, {.depth = 4});
  standin->failCall(0); // counts anew
  for(std::size_t i = 0; i < 20; ++i)
    ASSERT_TRUE(queue.upload(i % 4, bytes.span()));
  EXPECT_TRUE(queue.finish());
  EXPECT_EQ(standin->calls("cuEventCreate"), 0);
  EXPECT_EQ(standin->calls("cuStreamCreate"), 0);
  EXPECT_EQ(standin->calls("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_EQ(standin->calls("cuMemcpyHtoDAsync_v2"), 20);
}

TEST_F(CudaCopyOnStandin, FailureIsToldByWaitByFinishAndInTheLog) {
  const LogCapture log;
  const auto buffer = makeBuffer();
  PinnedBytes bytes{5000};
  auto queue = makeQueue(buffer);
  const auto failed = queue.upload(0, bytes.span());
  const auto good = queue.upload(1, bytes.span());
  ASSERT_TRUE(failed && good);
  standin->failNamed("cuEventQuery", static_cast<api::Status>(700));
  EXPECT_TRUE(failed->done()) << "nothing more is heard of it";
  standin->failNamed("", api::Status::Success);
  EXPECT_EQ(failed->wait().error().kind, Errc::Lost);
  EXPECT_STREQ(failed->wait().error().codeName, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_TRUE(good->wait());
  EXPECT_STREQ(queue.finish().error().call, "cuEventQuery");
  EXPECT_TRUE(queue.finish()) << "told once";
  ASSERT_EQ(log.errors().size(), 1U);
  EXPECT_STREQ(log.errors().front().call, "cuEventQuery");
}

TEST_F(CudaCopyOnStandin, WhatAContextDoesNotSurviveIsLostByName) {
  const auto buffer = makeBuffer();
  PinnedBytes bytes{5000};
  for(const std::uint32_t code : {214U, 700U, 702U, 709U, 710U, 714U, 715U, 716U, 717U, 718U, 719U}) {
    auto queue = makeQueue(buffer);
    const auto failed = queue.upload(0, bytes.span());
    ASSERT_TRUE(failed);
    standin->failNamed("cuEventQuery", static_cast<api::Status>(code));
    EXPECT_TRUE(failed->done());
    standin->failNamed("", api::Status::Success);
    EXPECT_EQ(failed->wait().error().kind, Errc::Lost) << code;
    EXPECT_TRUE(std::string_view{failed->wait().error().codeName}.starts_with("CUDA_ERROR_")) << code;
  }
}

TEST_F(CudaCopyOnStandin, FailureNamesItsSlot) {
  const auto buffer = makeBuffer();
  PinnedBytes bytes{5000};
  auto queue = makeQueue(buffer);
  standin->failNamed("cuMemcpyDtoHAsync_v2", api::Status::Unknown);
  const auto failed = queue.download(3, bytes.span());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().slot, 3);
  EXPECT_EQ(failed.error().bytes, 5000U);
}

TEST_F(CudaCopyOnStandin, CopyThatCannotBeWatchedIsOverWhenItsErrorIsTold) {
  standin->questionsUntilDone(-1);
  const auto buffer = makeBuffer();
  PinnedBytes received{5000, 9};
  auto queue = makeQueue(buffer);
  standin->failNamed("cuEventRecord", api::Status::Unknown);
  ASSERT_FALSE(queue.download(0, received.span()));
  EXPECT_NE(received.bytes().front(), std::byte{9}) << "still under way";
}

TEST_F(CudaCopyOnStandin, CopyWhoseMarkFailsIsOverWhenWaitTellsOfIt) {
  standin->questionsUntilDone(-1);
  const auto buffer = makeBuffer();
  PinnedBytes received{5000, 9};
  auto queue = makeQueue(buffer);
  const auto copy = queue.download(0, received.span());
  ASSERT_TRUE(copy);
  standin->failNamed("cuEventSynchronize", api::Status::Unknown);
  EXPECT_FALSE(copy->wait());
  EXPECT_NE(received.bytes().front(), std::byte{9}) << "still under way";
}

} // namespace
} // namespace rdmagpu::test
