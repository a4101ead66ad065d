#pragma once
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What the copy queue of every backend that has one promises, written once. A backend's own test
/// instantiates it with a config of 4 slots.
namespace rdmagpu::test {

class CopyContract : public testing::TestWithParam<RdmaGpuBufferConfig> {
protected:
  using Bytes = std::vector<std::byte>;

  static RdmaGpuBuffer makeBuffer() {
    auto made = RdmaGpuBuffer::make(GetParam());
    EXPECT_TRUE(made) << made.error().message();
    return made ? *std::move(made) : RdmaGpuBuffer{};
  }
  static CopyQueue makeQueue(const RdmaGpuBuffer& buffer, const CopyQueueOptions& options = {}) {
    auto made = CopyQueue::make(buffer, options);
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
  static Bytes filled(std::size_t bytes, unsigned value) {
    return Bytes(bytes, static_cast<std::byte>(value));
  }
};

TEST_P(CopyContract, BytesGoInAndOut) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer);
  const std::size_t size = buffer.slot(0).size;
  std::vector<Bytes> sent;
  for(unsigned i = 0; i < buffer.slotCount(); ++i)
    sent.push_back(filled(size, i + 1));
  for(unsigned i = 0; i < buffer.slotCount(); ++i)
    ASSERT_TRUE(queue.upload(i, sent[i]));
  const auto piece = filled(333, 99);
  ASSERT_TRUE(queue.upload(1, piece, 1001));
  ASSERT_TRUE(queue.finish());
  std::copy(piece.begin(), piece.end(), sent[1].begin() + 1001);
  std::vector<Bytes> received(buffer.slotCount(), Bytes(size));
  std::vector<Copy> copies;
  for(unsigned i = 0; i < buffer.slotCount(); ++i)
    copies.push_back(*queue.download(i, received[i]));
  for(const Copy& copy : copies) {
    EXPECT_TRUE(copy.wait());
    EXPECT_TRUE(copy.done());
  }
  EXPECT_TRUE(received == sent);
}

TEST_P(CopyContract, CopiesOfOneSlotAreDoneInOrder) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer, {.streams = 3});
  const std::size_t size = buffer.slot(0).size;
  const auto first = filled(size, 1);
  const auto second = filled(size, 2);
  Bytes received(size);
  for(int i = 0; i < 5; ++i) {
    ASSERT_TRUE(queue.upload(0, first));
    ASSERT_TRUE(queue.upload(0, second));
    const auto copy = queue.download(0, received);
    ASSERT_TRUE(copy);
    EXPECT_TRUE(copy->wait());
    EXPECT_TRUE(received == second);
    received.assign(size, std::byte{});
  }
}

TEST_P(CopyContract, DownloadAfterAHandOverGetsTheBytes) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer);
  auto ring = SlotRing::make({.slotCount = 2});
  ASSERT_TRUE(ring);
  const auto sent = filled(5000, 7);
  std::uint32_t slot{};
  ASSERT_EQ(ring->tryAcquire(slot), RingStatus::Ok);
  const auto copy = queue.upload(slot, sent);
  ASSERT_TRUE(copy);
  ASSERT_EQ(ring->publish(slot, 0, sent.size(), copy->completion()), RingStatus::Ok);
  RingFrame frame;
  ASSERT_EQ(ring->take(frame, std::chrono::seconds{60}), RingStatus::Ok);
  EXPECT_TRUE(copy->done());
  Bytes received(sent.size());
  ASSERT_TRUE(buffer.download(frame.slot, received));
  EXPECT_TRUE(received == sent);
}

TEST_P(CopyContract, CopyPastTheSlotIsRefused) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer);
  const std::size_t size = buffer.slot(0).size;
  Bytes data(size + 1);
  EXPECT_EQ(queue.upload(0, data).error().codeName, std::string{"RangeOutOfSlot"});
  EXPECT_EQ(queue.download(0, data).error().codeName, std::string{"RangeOutOfSlot"});
  EXPECT_FALSE(queue.upload(0, std::span{data}.first(1), static_cast<std::size_t>(-1)));
  EXPECT_EQ(queue.upload(buffer.slotCount(), {}).error().codeName, std::string{"SlotOutOfRange"});
  EXPECT_EQ(queue.download(buffer.slotCount(), {}).error().codeName, std::string{"SlotOutOfRange"});
  EXPECT_TRUE(queue.upload(0, std::span{data}.first(1), size - 1));
  EXPECT_TRUE(queue.finish());
}

TEST_P(CopyContract, CopyOfNothingIsDone) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer);
  const auto up = queue.upload(0, {}, buffer.slot(0).size);
  ASSERT_TRUE(up);
  EXPECT_TRUE(up->wait());
  const auto down = queue.download(3, {});
  ASSERT_TRUE(down);
  EXPECT_TRUE(down->wait());
}

TEST_P(CopyContract, MoreThanItsDepthWaitForTheOldest) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer, {.streams = 2, .depth = 3});
  const auto sent = filled(1000, 5);
  std::vector<Copy> copies;
  for(int i = 0; i < 20; ++i) {
    const auto copy = queue.upload(static_cast<std::size_t>(i) % buffer.slotCount(), sent);
    ASSERT_TRUE(copy);
    copies.push_back(*copy);
    if(i >= 3) {
      EXPECT_TRUE(copies[static_cast<std::size_t>(i - 3)].done());
    }
  }
  for(const Copy& copy : copies)
    EXPECT_TRUE(copy.wait());
}

TEST_P(CopyContract, EmptyOnesRefuse) {
  const RdmaGpuBuffer none;
  EXPECT_EQ(CopyQueue::make(none).error().codeName, std::string{"BufferEmpty"});
  const auto buffer = makeBuffer();
  EXPECT_EQ(CopyQueue::make(buffer, {.streams = 0}).error().codeName, std::string{"CopyQueueEmpty"});
  EXPECT_EQ(CopyQueue::make(buffer, {.depth = 0}).error().codeName, std::string{"CopyQueueEmpty"});
  auto queue = makeQueue(buffer);
  const CopyQueue taken{std::move(queue)};
  EXPECT_EQ(queue.upload(0, {}).error().codeName, // NOLINT(bugprone-use-after-move): what is tested
            std::string{"BufferEmpty"});
  EXPECT_EQ(queue.download(0, {}).error().codeName, std::string{"BufferEmpty"});
  EXPECT_TRUE(queue.finish());
  const Copy nothing;
  EXPECT_TRUE(nothing.done());
  EXPECT_TRUE(nothing.wait());
  EXPECT_EQ(nothing.completion().done, nullptr);
}

/// Invariant 3, with a copy under way.
TEST_P(CopyContract, EveryDestructionOrderIsSafe) {
  std::vector<int> order{0, 1, 2, 3};
  const auto sent = filled(5000, 1);
  do {
    std::optional<RdmaGpuBuffer> buffer{makeBuffer()};
    std::optional<CopyQueue> queue{makeQueue(*buffer)};
    std::optional<Copy> copy{*queue->upload(1, sent)};
    std::optional<CopyQueue> other{makeQueue(*buffer)};
    ASSERT_TRUE(other->upload(1, sent));
    const std::weak_ptr<const void> watch = buffer->keepAlive(0);
    for(const int step : order) {
      EXPECT_FALSE(watch.expired()) << "the region went before its last holder";
      switch(step) {
      case 0:
        buffer.reset();
        break;
      case 1:
        queue.reset();
        break;
      case 2:
        copy.reset();
        break;
      default:
        other.reset();
        break;
      }
    }
    EXPECT_TRUE(watch.expired());
  } while(std::next_permutation(order.begin(), order.end()));
}

TEST_P(CopyContract, CopyOutlivesItsQueue) {
  auto buffer = makeBuffer();
  Copy copy;
  RingCompletion completion;
  const auto sent = filled(5000, 1);
  {
    auto queue = makeQueue(buffer);
    copy = *queue.upload(1, sent);
    completion = copy.completion();
  }
  buffer.destroy();
  EXPECT_TRUE(completion.done(completion.context));
  EXPECT_TRUE(copy.done());
  EXPECT_TRUE(copy.wait());
}

TEST_P(CopyContract, SeveralThreadsShareAQueue) {
  const auto buffer = makeBuffer();
  auto queue = makeQueue(buffer, {.streams = 2, .depth = 3});
  std::vector<std::thread> threads;
  for(unsigned t = 0; t < buffer.slotCount(); ++t) {
    threads.emplace_back([&queue, t] {
      Bytes received(5000);
      for(unsigned i = 1; i <= 50; ++i) {
        const auto sent = filled(received.size(), t * 50 + i);
        const auto up = queue.upload(t, sent);
        ASSERT_TRUE(up) << up.error().message();
        const auto down = queue.download(t, received);
        ASSERT_TRUE(down) << down.error().message();
        while(!down->done())
          std::this_thread::yield();
        EXPECT_TRUE(up->done());
        EXPECT_TRUE(received == sent);
      }
    });
  }
  for(std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(queue.finish());
}

} // namespace rdmagpu::test
