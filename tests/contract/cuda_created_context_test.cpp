#include <contract/cuda_driver.hpp>
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/cuda_completions.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace rdmagpu::test {
namespace {

/// A program that creates contexts of its own, as those from before the runtime's primary ones do.
class CudaCreatedContext : public testing::TestWithParam<CudaMemory> {
protected:
  void TearDown() override {
    EXPECT_EQ(cuda.current(), nullptr);
    if(CudaStandin* standin = CudaStandin::find()) {
      EXPECT_EQ(standin->ledger(), "");
    }
  }

  /// It is current then.
  api::Context create(int ordinal) const {
    api::Context context{};
    EXPECT_EQ(cuda.ctxCreate(&context, 0, static_cast<api::Device>(ordinal)), api::Status::Success);
    EXPECT_EQ(cuda.current(), context);
    return context;
  }
  void destroy(api::Context context) const { EXPECT_EQ(cuda.ctxDestroy(context), api::Status::Success); }

  RdmaGpuBuffer make() const {
    auto config = cudaConfig(GetParam());
    config.zeroFill = true;
    config.scrubOnDestroy = true;
    auto buffer = RdmaGpuBuffer::make(config);
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? *std::move(buffer) : RdmaGpuBuffer{};
  }

  /// All that a buffer can do, and whether the bytes are right; `expected` stays current.
  void useAll(api::Context expected) const {
    auto buffer = make();
    std::array<std::byte, 5000> sent{};
    sent.fill(std::byte{42});
    std::array<std::byte, 5000> got{};
    EXPECT_TRUE(buffer.upload(1, sent));
    EXPECT_TRUE(buffer.download(1, got));
    EXPECT_EQ(got, sent);
    const auto sum = buffer.checksum(1, sent.size());
    ASSERT_TRUE(sum) << sum.error().message();
    EXPECT_EQ(*sum, checksum(sent));
    EXPECT_TRUE(buffer.poison(3, 1));
    EXPECT_TRUE(buffer.clear(3));
    EXPECT_TRUE(buffer.exportRegion());
    EXPECT_TRUE(buffer.exportSlot(1));
    EXPECT_TRUE(buffer.flushPeerWrites());
    EXPECT_EQ(cuda.current(), expected);
    useQueue(buffer);
    EXPECT_EQ(cuda.current(), expected);
    buffer.destroy();
    EXPECT_EQ(cuda.current(), expected);
  }

  static void useQueue(const RdmaGpuBuffer& buffer) {
    auto queue = CopyQueue::make(buffer);
    ASSERT_TRUE(queue) << queue.error().message();
    std::array<std::byte, 3000> sent{};
    sent.fill(std::byte{7});
    std::array<std::byte, 3000> got{};
    EXPECT_TRUE(queue->upload(2, sent));
    EXPECT_TRUE(queue->download(2, got));
    EXPECT_TRUE(queue->finish());
    EXPECT_EQ(got, sent);
  }

  const CudaDriver& cuda = CudaDriver::instance();
};

TEST_P(CudaCreatedContext, OfTheSameGpuIsUsedAndStays) {
  const api::Context own = create(0);
  useAll(own);
  EXPECT_FALSE(cuda.primaryIsActive()) << "nothing needs a second context";
  destroy(own);
}

TEST_P(CudaCreatedContext, OfAnotherGpuStays) {
  if(cuda.deviceCount() < 2)
    GTEST_SKIP() << "this machine has one GPU";
  const api::Context other = create(1);
  useAll(other);
  destroy(other);
  EXPECT_FALSE(cuda.primaryIsActive(0));
  EXPECT_FALSE(cuda.primaryIsActive(1));
}

TEST_P(CudaCreatedContext, MemoryMadeInOneIsUsedWhereAnotherIsCurrent) {
  const api::Context first = create(0);
  auto buffer = make();
  const api::Context second = create(0);
  std::array<std::byte, 100> bytes{};
  EXPECT_TRUE(buffer.upload(0, bytes));
  EXPECT_TRUE(buffer.checksum(0, bytes.size()));
  useQueue(buffer);
  EXPECT_EQ(cuda.current(), second);
  buffer.destroy();
  EXPECT_EQ(cuda.current(), second);
  destroy(second);
  destroy(first);
}

TEST_P(CudaCreatedContext, AThreadWithoutOneUsesTheMemory) {
  const api::Context own = create(0);
  auto buffer = make();
  std::thread{[&] {
    std::array<std::byte, 100> bytes{};
    EXPECT_TRUE(buffer.upload(0, bytes));
    EXPECT_TRUE(buffer.checksum(0, bytes.size()));
    useQueue(buffer);
    EXPECT_EQ(cuda.current(), nullptr);
  }}.join();
  buffer.destroy();
  destroy(own);
}

TEST_P(CudaCreatedContext, GoesWithWorkOfCompletionsThatIsDone) {
  auto completions = CudaCompletions::make(1);
  ASSERT_TRUE(completions) << completions.error().message();
  const api::Context own = create(0);
  ASSERT_TRUE(completions->after(0, CudaStream{}));
  ASSERT_EQ(cuda.ctxSynchronize(), api::Status::Success);
  destroy(own);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaCreatedContext, testing::Values(CudaMemory::Vmm, CudaMemory::MemAlloc),
                         [](const auto& tested) {
                           return tested.param == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

/// What must outlive the memory goes before it: a mistake, for which the driver promises nothing and at which
/// it may end the process. The stand-in does so at any use of what has gone.
class CudaContextGone : public CudaCreatedContext {
protected:
  static void expectRefused(const Error& error) {
    EXPECT_EQ(error.origin, Origin::Cuda) << error.message();
    const std::string_view code{error.codeName};
    EXPECT_TRUE(code == "CUDA_ERROR_CONTEXT_IS_DESTROYED" || code == "CUDA_ERROR_INVALID_CONTEXT") << code;
    EXPECT_FALSE(error.hints().empty()) << error.message();
  }

  /// Everything that belongs to the context; then that goes, as `end` says.
  template <class End>
  void useAfter(End end) {
    const api::Context own = create(0);
    auto buffer = make();
    std::array<std::byte, 100> bytes{};
    ASSERT_TRUE(buffer.checksum(0, bytes.size()));
    auto queue = CopyQueue::make(buffer);
    ASSERT_TRUE(queue) << queue.error().message();
    ASSERT_TRUE(queue->upload(0, bytes));
    end(own);
    const auto sum = buffer.checksum(0, bytes.size());
    ASSERT_FALSE(sum) << "its kernels have gone";
    expectRefused(sum.error());
    const auto copy = queue->upload(1, bytes);
    ASSERT_FALSE(copy) << "its streams have gone";
    expectRefused(copy.error());
    const auto finished = queue->finish();
    ASSERT_FALSE(finished);
    expectRefused(finished.error());
    if(GetParam() == CudaMemory::MemAlloc) {
      const auto upload = buffer.upload(0, bytes);
      ASSERT_FALSE(upload) << "the memory has gone, too";
      expectRefused(upload.error());
    }
  }
};

TEST_P(CudaContextGone, UseIsRefusedAndEndsWell) {
  useAfter([&](api::Context own) {
    destroy(own);
    EXPECT_EQ(cuda.current(), nullptr) << "it was popped";
  });
}

TEST_P(CudaContextGone, UseWhereItIsStillCurrentIsRefusedAndEndsWell) {
  useAfter([&](api::Context own) {
    std::thread{[&] { destroy(own); }}.join();
    EXPECT_EQ(cuda.current(), own);
    std::size_t free{};
    std::size_t total{};
    EXPECT_EQ(cuda.functions.memGetInfo(&free, &total), api::Status::ContextIsDestroyed);
  });
  EXPECT_EQ(cuda.ctxSetCurrent(nullptr), api::Status::Success);
}

TEST_P(CudaContextGone, AnotherOneThatIsCurrentLosesNothing) {
  const api::Context own = create(0);
  std::optional<RdmaGpuBuffer> buffer = make();
  destroy(own);
  const api::Context other = create(0);
  if(GetParam() == CudaMemory::MemAlloc) { // another's memory may have the address by now
    std::array<std::byte, 100> bytes{};
    const auto upload = buffer->upload(0, bytes);
    ASSERT_FALSE(upload);
    expectRefused(upload.error());
    ASSERT_FALSE(buffer->clear(0));
    ASSERT_FALSE(buffer->exportRegion());
  }
  buffer.reset(); // which would have been overwritten
  EXPECT_EQ(cuda.current(), other);
  destroy(other);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaContextGone, testing::Values(CudaMemory::Vmm, CudaMemory::MemAlloc),
                         [](const auto& tested) {
                           return tested.param == CudaMemory::Vmm ? "Vmm" : "MemAlloc";
                         });

/// The stand-in's own, by what CUDA documents.
class CudaStandinContexts : public OnCudaStandin {
protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe"; // a forked child could not use the driver
    OnCudaStandin::SetUp();
  }

  const CudaDriver& cuda = CudaDriver::instance();
};

TEST_F(CudaStandinContexts, WhatLivesInAContextGoesWithIt) {
  api::Context context{};
  ASSERT_EQ(cuda.ctxCreate(&context, 0, api::Device{}), api::Status::Success);
  EXPECT_EQ(standin->ledger(), "1 contexts; ");
  api::DevicePtr memory{};
  api::Stream stream{};
  api::Event event{};
  EXPECT_EQ(cuda.functions.memAlloc(&memory, 4096), api::Status::Success);
  EXPECT_EQ(cuda.functions.streamCreate(&stream, api::StreamFlags::NonBlocking), api::Status::Success);
  EXPECT_EQ(cuda.functions.eventCreate(&event, api::EventFlags::DisableTiming), api::Status::Success);
  EXPECT_EQ(cuda.ctxDestroy(context), api::Status::Success);
  EXPECT_EQ(standin->ledger(), "");
  std::uint64_t id{};
  unsigned version{};
  EXPECT_EQ(cuda.functions.ctxGetId(context, &id), api::Status::ContextIsDestroyed);
  EXPECT_EQ(cuda.functions.ctxGetApiVersion(context, &version), api::Status::InvalidContext);
  EXPECT_DEATH(static_cast<void>(cuda.functions.ctxPushCurrent(context)), "a context that was destroyed");
  EXPECT_DEATH(static_cast<void>(cuda.functions.eventQuery(event)), "of a context that was destroyed");
}

TEST_F(CudaStandinContexts, AHandleThatIsUsedAgainHasAnotherId) {
  api::Context first{};
  std::uint64_t firstId{};
  ASSERT_EQ(cuda.ctxCreate(&first, 0, api::Device{}), api::Status::Success);
  ASSERT_EQ(cuda.functions.ctxGetId(first, &firstId), api::Status::Success);
  ASSERT_EQ(cuda.ctxDestroy(first), api::Status::Success);
  api::Context second{};
  std::uint64_t secondId{};
  ASSERT_EQ(cuda.ctxCreate(&second, 0, api::Device{}), api::Status::Success);
  ASSERT_EQ(cuda.functions.ctxGetId(second, &secondId), api::Status::Success);
  EXPECT_EQ(second, first) << "as the driver may do, too";
  EXPECT_NE(secondId, firstId);
  EXPECT_EQ(cuda.ctxDestroy(second), api::Status::Success);
}

TEST_F(CudaStandinContexts, EachVersionOfTheCallMakesOne) {
  std::array<api::Context, 2> made{};
  EXPECT_EQ(cuda.ctxCreateV3(&made[0], nullptr, 0, 0, api::Device{}), api::Status::Success);
  EXPECT_EQ(cuda.ctxCreateV4(&made[1], nullptr, 0, api::Device{}), api::Status::Success);
  EXPECT_EQ(cuda.current(), made[1]);
  for(const api::Context context : made)
    EXPECT_EQ(cuda.ctxDestroy(context), api::Status::Success);
  EXPECT_EQ(cuda.current(), made[0]) << "it was not the top of the stack when it went";
  EXPECT_EQ(cuda.ctxSetCurrent(nullptr), api::Status::Success);
}

TEST_F(CudaStandinContexts, AWrongRequestMakesNone) {
  api::Context context{};
  EXPECT_EQ(cuda.ctxCreate(&context, 0, static_cast<api::Device>(7)), api::Status::InvalidDevice);
  EXPECT_EQ(cuda.ctxCreate(&context, 3, api::Device{}), api::Status::InvalidValue) << "spin and yield";
  EXPECT_EQ(cuda.ctxCreate(nullptr, 0, api::Device{}), api::Status::InvalidValue);
  EXPECT_EQ(cuda.ctxDestroy(nullptr), api::Status::InvalidValue);
  EXPECT_EQ(cuda.current(), nullptr);
}

} // namespace
} // namespace rdmagpu::test
