#pragma once
#include <rdmagpu/checksum.hpp>
#include <rdmagpu/poison.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What every backend promises of the bytes of a slot that are checked, poisoned and cleared where they lie,
/// written once. A backend's own test instantiates it with a config of 4 slots. On a GPU it is what proves
/// the kernels.
namespace rdmagpu::test {

class BytesContract : public testing::TestWithParam<RdmaGpuBufferConfig> {
protected:
  using Bytes = std::vector<std::byte>;

  static RdmaGpuBuffer make(const RdmaGpuBufferConfig& config = GetParam()) {
    auto made = RdmaGpuBuffer::make(config);
    EXPECT_TRUE(made) << made.error().message();
    return made ? *std::move(made) : RdmaGpuBuffer{};
  }
  static Bytes poisoned(std::size_t bytes, std::uint64_t seed) {
    Bytes filled(bytes);
    poison(filled, seed);
    return filled;
  }
  static Bytes contents(const RdmaGpuBuffer& buffer, std::size_t slot) {
    Bytes bytes(buffer.slot(slot).size);
    EXPECT_TRUE(buffer.download(slot, bytes));
    return bytes;
  }
  /// Of the slot's first bytes, as many as `bytes` are.
  static std::uint64_t uploaded(const RdmaGpuBuffer& buffer, std::size_t slot, const Bytes& bytes) {
    EXPECT_TRUE(buffer.upload(slot, bytes));
    const auto sum = buffer.checksum(slot, bytes.size());
    EXPECT_TRUE(sum) << sum.error().message();
    return sum ? *sum : 0;
  }
  static void expectSame(const RdmaGpuBuffer& buffer, const Bytes& bytes, std::size_t offset,
                         std::size_t count) {
    const auto sum = buffer.checksum(1, count, offset);
    ASSERT_TRUE(sum) << sum.error().message();
    EXPECT_EQ(*sum, checksum(std::span{bytes}.subspan(offset, count))) << count << " from " << offset;
  }
};

TEST_P(BytesContract, ChecksumIsThatOfTheSameBytesOnTheCpu) {
  const auto buffer = make();
  const auto bytes = poisoned(buffer.slot(1).size, 1);
  ASSERT_TRUE(buffer.upload(1, bytes));
  for(std::size_t offset = 0; offset <= 17; ++offset) {
    for(const std::size_t count :
        {0U, 1U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 32U, 33U, 2047U, 2048U, 4095U, 4096U, 4097U, 70'001U})
      expectSame(buffer, bytes, offset, count);
    expectSame(buffer, bytes, offset, bytes.size() - offset);
  }
  for(std::size_t count = 0; count <= 64; ++count) // up to the slot's end
    expectSame(buffer, bytes, bytes.size() - count, count);
}

TEST_P(BytesContract, ChecksumOfAWholeFrameIsThatOfTheCpu) {
  auto config = GetParam();
  config.slotCount = 2;
  config.frameBytes = 22'118'400; // 2160p in v210
  const auto buffer = make(config);
  const auto bytes = poisoned(buffer.slot(1).size, 1);
  ASSERT_TRUE(buffer.upload(1, bytes));
  expectSame(buffer, bytes, 0, 4'147'200);
  expectSame(buffer, bytes, 0, config.frameBytes);
  expectSame(buffer, bytes, 5, config.frameBytes + 1);
}

TEST_P(BytesContract, ChecksumFindsABitThatFlips) {
  const auto buffer = make();
  auto bytes = poisoned(100'001, 1);
  const std::uint64_t right = uploaded(buffer, 0, bytes);
  for(const std::size_t at : {0U, 7U, 8U, 4095U, 65'535U, 99'999U, 100'000U}) {
    bytes[at] ^= std::byte{1};
    EXPECT_NE(uploaded(buffer, 0, bytes), right) << at;
    bytes[at] ^= std::byte{1};
  }
  EXPECT_EQ(uploaded(buffer, 0, bytes), right);
}

TEST_P(BytesContract, ChecksumFindsWordsAndLinesThatChangedPlaces) {
  const auto buffer = make();
  const auto bytes = poisoned(100'000, 1);
  const std::uint64_t right = uploaded(buffer, 0, bytes);
  for(const std::ptrdiff_t line : {8, 16, 5120}) {
    auto swapped = bytes;
    std::swap_ranges(swapped.begin() + 10 * line, swapped.begin() + 11 * line, swapped.begin() + 12 * line);
    EXPECT_NE(uploaded(buffer, 0, swapped), right) << line;
  }
}

TEST_P(BytesContract, PoisonIsThatOfTheCpuAndStaysInItsSlot) {
  const auto buffer = make();
  for(std::size_t slot = 0; slot < buffer.slotCount(); ++slot)
    ASSERT_TRUE(buffer.clear(slot));
  const auto done = buffer.poison(1, 77);
  ASSERT_TRUE(done) << done.error().message();
  const std::size_t size = buffer.slot(0).size;
  EXPECT_TRUE(contents(buffer, 0) == Bytes(size));
  EXPECT_TRUE(contents(buffer, 1) == poisoned(size, 77));
  EXPECT_TRUE(contents(buffer, 2) == Bytes(size));
}

TEST_P(BytesContract, WhatWasNotWrittenIsStillPoison) {
  const auto buffer = make();
  ASSERT_TRUE(buffer.poison(2, 5));
  auto expected = poisoned(buffer.slot(2).size, 5);
  const Bytes written(1000, std::byte{1});
  ASSERT_TRUE(buffer.upload(2, written, 3000));
  std::copy(written.begin(), written.end(), expected.begin() + 3000);
  EXPECT_TRUE(contents(buffer, 2) == expected);
}

TEST_P(BytesContract, ClearStaysInItsSlot) {
  const auto buffer = make();
  for(std::size_t slot = 0; slot < buffer.slotCount(); ++slot)
    ASSERT_TRUE(buffer.poison(slot, slot));
  ASSERT_TRUE(buffer.clear(1));
  const std::size_t size = buffer.slot(0).size;
  EXPECT_TRUE(contents(buffer, 0) == poisoned(size, 0));
  EXPECT_TRUE(contents(buffer, 1) == Bytes(size));
  EXPECT_TRUE(contents(buffer, 2) == poisoned(size, 2));
}

TEST_P(BytesContract, RangesPastTheSlotAreRefused) {
  const auto buffer = make();
  const std::size_t size = buffer.slot(0).size;
  constexpr auto absurd = static_cast<std::size_t>(-1);
  for(const auto& [bytes, offset] : {std::pair{size + 1, std::size_t{0}}, std::pair{std::size_t{2}, size - 1},
                                     std::pair{std::size_t{1}, absurd}, std::pair{absurd, std::size_t{1}}})
    EXPECT_EQ(buffer.checksum(0, bytes, offset).error().codeName, std::string{"RangeOutOfSlot"});
  EXPECT_TRUE(buffer.checksum(0, 1, size - 1));
  EXPECT_TRUE(buffer.checksum(0, 0, size));
}

TEST_P(BytesContract, SlotsThatAreNotThereAreRefused) {
  const auto buffer = make();
  const std::size_t count = buffer.slotCount();
  EXPECT_EQ(buffer.checksum(count, 0).error().codeName, std::string{"SlotOutOfRange"});
  EXPECT_EQ(buffer.poison(count, 0).error().codeName, std::string{"SlotOutOfRange"});
  EXPECT_EQ(buffer.clear(count).error().codeName, std::string{"SlotOutOfRange"});
  const RdmaGpuBuffer none;
  EXPECT_EQ(none.checksum(0, 0).error().codeName, std::string{"BufferEmpty"});
  EXPECT_EQ(none.poison(0, 0).error().codeName, std::string{"BufferEmpty"});
  EXPECT_EQ(none.clear(0).error().codeName, std::string{"BufferEmpty"});
}

TEST_P(BytesContract, SeveralThreadsAreServed) {
  const auto buffer = make();
  std::vector<std::thread> threads;
  for(std::size_t slot = 0; slot < buffer.slotCount(); ++slot) {
    threads.emplace_back([&buffer, slot] {
      for(std::uint64_t i = 0; i < 10; ++i) {
        const std::uint64_t seed = slot * 10 + i;
        EXPECT_TRUE(buffer.poison(slot, seed));
        const auto sum = buffer.checksum(slot, 5000);
        ASSERT_TRUE(sum) << sum.error().message();
        EXPECT_EQ(*sum, checksum(poisoned(5000, seed)));
      }
    });
  }
  for(std::thread& thread : threads)
    thread.join();
}

} // namespace rdmagpu::test
