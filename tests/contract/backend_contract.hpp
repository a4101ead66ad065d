#pragma once
#include <contract/fault.hpp>
#include <rdmagpu/backends.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <support/log_capture.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What every backend promises, written once. A backend's own test instantiates it:
/// INSTANTIATE_TEST_SUITE_P(Host, BackendContract, testing::Values(...)).
namespace rdmagpu::test {

struct BackendUnderTest {
  RdmaGpuBufferConfig config; ///< 4 slots of an odd size.
  bool exportable{};          ///< Here and now a dma-buf can be made.
  bool shareable{};           ///< A second process can map the slots.
};

inline void PrintTo(const BackendUnderTest& backend, std::ostream* out) { *out << name(backend.config.api); }

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  std::mt19937 random{seed};
  std::generate(data.begin(), data.end(), [&] { return static_cast<std::byte>(random()); });
  return data;
}

class BackendContract : public testing::TestWithParam<BackendUnderTest> {
protected:
  static RdmaGpuBuffer make() {
    auto buffer = RdmaGpuBuffer::make(GetParam().config);
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? *std::move(buffer) : RdmaGpuBuffer{};
  }
};

TEST_P(BackendContract, HoldsAsManySlotsAsAsked) {
  const auto buffer = make();
  EXPECT_TRUE(buffer.valid());
  EXPECT_EQ(buffer.slotCount(), GetParam().config.slotCount);
  EXPECT_EQ(buffer.backend(), GetParam().config.api);
  EXPECT_EQ(buffer.facts().api, GetParam().config.api);
  EXPECT_EQ(buffer.proof().allocated, Answer::Yes);
}

TEST_P(BackendContract, SlotsStartOnTheirOwnGpuPages) {
  const auto buffer = make();
  for(std::size_t i = 0; i < buffer.slotCount(); ++i) {
    const auto slot = buffer.slot(i);
    EXPECT_GE(slot.size, GetParam().config.frameBytes);
    EXPECT_EQ(slot.size % (64 * 1024), 0U);
    if(slot.gpuVA) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot.gpuVA) % (64 * 1024), 0U);
    }
    for(std::size_t j = 0; j < i; ++j) {
      const bool address = slot.gpuVA != nullptr; // else the offset says where it is
      const auto low =
          address ? reinterpret_cast<std::uintptr_t>(buffer.slot(j).gpuVA) : buffer.slotOffset(j);
      const auto high = address ? reinterpret_cast<std::uintptr_t>(slot.gpuVA) : buffer.slotOffset(i);
      EXPECT_TRUE(low + slot.size <= high || high + slot.size <= low) << "slots " << j << " and " << i;
    }
  }
}

TEST_P(BackendContract, SlotOutOfRangeIsEmpty) {
  const auto buffer = make();
  const auto slot = buffer.slot(buffer.slotCount());
  EXPECT_EQ(slot.gpuVA, nullptr);
  EXPECT_EQ(slot.size, 0U);
  EXPECT_EQ(kind(buffer.handoff(buffer.slotCount())), HandoffKind::None);
  EXPECT_EQ(buffer.keepAlive(buffer.slotCount()), nullptr);
}

TEST_P(BackendContract, HandoffIsTheAddress) {
  const auto buffer = make();
  for(std::size_t i = 0; i < buffer.slotCount(); ++i) {
    EXPECT_EQ(addressBits(buffer.handoff(i)), reinterpret_cast<std::uintptr_t>(buffer.slot(i).gpuVA));
    EXPECT_NE(kind(buffer.handoff(i)), HandoffKind::None);
  }
}

TEST_P(BackendContract, CommitsLittleMoreThanAsked) {
  const auto buffer = make();
  const auto& facts = buffer.facts();
  EXPECT_EQ(facts.requestedBytes, std::size_t{facts.slotCount} * facts.frameBytes);
  EXPECT_GE(facts.committedBytes, facts.requestedBytes);
  EXPECT_LE(facts.committedBytes, facts.slotCount * (facts.frameBytes + 64 * 1024) + (2U << 20));
}

TEST_P(BackendContract, BytesGoInAndOut) {
  const auto buffer = make();
  const std::size_t size = buffer.slot(0).size;
  for(unsigned i = 0; i < buffer.slotCount(); ++i)
    ASSERT_TRUE(buffer.upload(i, pattern(size, i)));
  for(unsigned i = 0; i < buffer.slotCount(); ++i) {
    std::vector<std::byte> back(size);
    ASSERT_TRUE(buffer.download(i, back));
    EXPECT_TRUE(back == pattern(size, i)) << "slot " << i;
  }
}

TEST_P(BackendContract, PartialCopiesTouchNothingElse) {
  const auto buffer = make();
  const std::size_t size = buffer.slot(0).size;
  ASSERT_TRUE(buffer.upload(1, pattern(size, 1)));
  const auto piece = pattern(1001, 7);
  ASSERT_TRUE(buffer.upload(1, piece, 333));
  auto expected = pattern(size, 1);
  std::copy(piece.begin(), piece.end(), expected.begin() + 333);
  std::vector<std::byte> back(size);
  ASSERT_TRUE(buffer.download(1, back));
  EXPECT_TRUE(back == expected);
  std::vector<std::byte> middle(1001);
  ASSERT_TRUE(buffer.download(1, middle, 333));
  EXPECT_TRUE(middle == piece);
}

TEST_P(BackendContract, CopyPastTheSlotIsRefused) {
  const auto buffer = make();
  const std::size_t size = buffer.slot(0).size;
  const std::vector<std::byte> data(size + 1);
  EXPECT_EQ(buffer.upload(0, data).error().codeName, std::string{"RangeOutOfSlot"});
  EXPECT_FALSE(buffer.upload(0, std::span{data}.first(2), size - 1));
  EXPECT_FALSE(buffer.upload(0, std::span{data}.first(1), static_cast<std::size_t>(-1)));
  EXPECT_TRUE(buffer.upload(0, std::span{data}.first(1), size - 1));
  EXPECT_TRUE(buffer.upload(0, {}, size));
  std::vector<std::byte> back(1);
  EXPECT_EQ(buffer.download(buffer.slotCount(), back).error().codeName, std::string{"SlotOutOfRange"});
}

TEST_P(BackendContract, FreshSlotsHoldZeros) {
  {
    const auto used = make();
    for(unsigned i = 0; i < used.slotCount(); ++i)
      ASSERT_TRUE(used.upload(i, pattern(used.slot(i).size, 99)));
  }
  auto config = GetParam().config;
  config.zeroFill = true;
  const auto buffer = RdmaGpuBuffer::make(config);
  ASSERT_TRUE(buffer);
  for(unsigned i = 0; i < buffer->slotCount(); ++i) {
    std::vector<std::byte> back(buffer->slot(i).size, std::byte{1});
    ASSERT_TRUE(buffer->download(i, back));
    EXPECT_TRUE(std::all_of(back.begin(), back.end(), [](std::byte b) { return b == std::byte{}; }));
  }
}

TEST_P(BackendContract, FlushSucceeds) { EXPECT_TRUE(make().flushPeerWrites()); }

TEST_P(BackendContract, MovedFromBufferIsEmpty) {
  auto buffer = make();
  void* const address = buffer.slot(0).gpuVA;
  const RdmaGpuBuffer taken{std::move(buffer)};
  EXPECT_EQ(taken.slot(0).gpuVA, address);
  EXPECT_FALSE(buffer.valid()); // NOLINT(bugprone-use-after-move): the state after a move is what is tested
  EXPECT_EQ(buffer.slotCount(), 0U);
  EXPECT_EQ(buffer.backend(), RdmaGpuApi::None);
  buffer.destroy();
}

TEST_P(BackendContract, DestroyIsIdempotent) {
  auto buffer = make();
  buffer.destroy();
  EXPECT_FALSE(buffer.valid());
  buffer.destroy();
  EXPECT_EQ(buffer.slot(0).gpuVA, nullptr);
  EXPECT_TRUE(buffer.create(GetParam().config)) << buffer.error().message();
  EXPECT_TRUE(buffer.valid());
}

TEST_P(BackendContract, CreateReplacesAndReportsFailure) {
  auto buffer = make();
  auto bad = GetParam().config;
  bad.frameBytes = 0;
  EXPECT_FALSE(buffer.create(bad));
  EXPECT_FALSE(buffer.valid());
  EXPECT_EQ(buffer.error().codeName, std::string{"FrameBytesZero"});
  EXPECT_TRUE(buffer.create(GetParam().config));
  EXPECT_EQ(buffer.error().kind, Errc::None);
}

TEST_P(BackendContract, BadSizesAreRefused) {
  auto config = GetParam().config;
  config.slotCount = 0;
  EXPECT_EQ(RdmaGpuBuffer::make(config).error().codeName, std::string{"SlotCountZero"});
  config = GetParam().config;
  config.frameBytes = 0;
  EXPECT_EQ(RdmaGpuBuffer::make(config).error().codeName, std::string{"FrameBytesZero"});
  for(const std::size_t absurd : {static_cast<std::size_t>(-1), static_cast<std::size_t>(-1) / 4 + 2}) {
    config.frameBytes = absurd;
    EXPECT_EQ(RdmaGpuBuffer::make(config).error().codeName, std::string{"SizeOverflow"}) << absurd;
  }
}

TEST_P(BackendContract, MoreThanTheBudgetNamesBothFigures) {
  auto config = GetParam().config;
  config.frameBytes = std::size_t{1} << 45U;
  const auto refused = RdmaGpuBuffer::make(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::OutOfMemory);
  EXPECT_GE(refused.error().bytes, config.frameBytes);
  EXPECT_GT(refused.error().available, 0U);
  EXPECT_FALSE(refused.error().hints().empty());
}

TEST_P(BackendContract, MaxSlotsIsWhatFits) {
  auto config = GetParam().config;
  config.frameBytes = std::size_t{256} << 20U;
  const auto most = RdmaGpuBuffer::maxSlots(config);
  ASSERT_TRUE(most) << most.error().message();
  ASSERT_GT(*most, 0U);
  config.slotCount = *most * 2 + 8;
  EXPECT_FALSE(RdmaGpuBuffer::make(config));
  config.frameBytes = 0;
  EXPECT_EQ(RdmaGpuBuffer::maxSlots(config).error().codeName, std::string{"FrameBytesZero"});
}

TEST_P(BackendContract, KeepAliveOutlivesTheBuffer) {
  auto buffer = make();
  auto* first = static_cast<std::byte*>(cpuAddress(buffer.handoff(0)));
  ASSERT_TRUE(buffer.upload(0, pattern(64, 3)));
  const auto held = buffer.keepAlive(0);
  ASSERT_NE(held, nullptr);
  const std::weak_ptr<const void> watch = held;
  buffer.destroy();
  EXPECT_FALSE(watch.expired());
  if(first) {
    EXPECT_TRUE(std::equal(first, first + 64, pattern(64, 3).begin()));
  }
}

TEST_P(BackendContract, RegionGoesWithItsLastHolder) {
  auto buffer = make();
  std::weak_ptr<const void> watch = buffer.keepAlive(0);
  EXPECT_FALSE(watch.expired());
  buffer.destroy();
  EXPECT_TRUE(watch.expired());
}

TEST_P(BackendContract, ExportsCoverTheirRange) {
  const auto buffer = make();
  const auto region = buffer.exportRegion();
  if(!GetParam().exportable) {
    ASSERT_FALSE(region);
    EXPECT_STRNE(region.error().call, "");
    EXPECT_FALSE(region.error().hints().empty()) << region.error().message();
    EXPECT_FALSE(buffer.exportSlot(0));
    EXPECT_EQ(buffer.proof().exported, Answer::No);
    return;
  }
  ASSERT_TRUE(region) << region.error().message();
  EXPECT_GE(region->fd(), 0);
  EXPECT_EQ(region->size(), buffer.slot(0).size * buffer.slotCount());
  const auto again = buffer.exportRegion();
  ASSERT_TRUE(again);
  EXPECT_NE(again->fd(), region->fd());
  for(std::size_t i = 0; i < buffer.slotCount(); ++i) {
    EXPECT_EQ(buffer.slotOffset(i), i * buffer.slot(0).size);
    const auto slot = buffer.exportSlot(i);
    ASSERT_TRUE(slot) << slot.error().message();
    EXPECT_EQ(slot->size(), buffer.slot(i).size);
  }
  EXPECT_EQ(buffer.exportSlot(buffer.slotCount()).error().codeName, std::string{"SlotOutOfRange"});
  EXPECT_EQ(buffer.proof().exported, Answer::Yes);
}

/// Invariant 3: what was taken from a buffer may go in any order.
TEST_P(BackendContract, EveryDestructionOrderIsSafe) {
  std::vector<int> order{0, 1, 2, 3};
  do {
    std::optional<RdmaGpuBuffer> buffer{make()};
    std::optional<std::shared_ptr<const void>> keep{buffer->keepAlive(0)};
    std::optional<Result<DmaBuf>> region{buffer->exportRegion()};
    std::optional<Result<DmaBuf>> slot{buffer->exportSlot(1)};
    const std::weak_ptr<const void> watch = *keep;
    for(std::size_t step = 0; step < order.size(); ++step) {
      EXPECT_FALSE(watch.expired()) << "the region went before its last holder";
      switch(order[step]) {
      case 0:
        buffer.reset();
        break;
      case 1:
        keep.reset();
        break;
      case 2:
        region.reset();
        break;
      default:
        slot.reset();
        break;
      }
      const bool exportsLeft = GetParam().exportable && (region || slot);
      if(!buffer && !keep && !exportsLeft)
        break;
    }
    EXPECT_TRUE(watch.expired());
  } while(std::next_permutation(order.begin(), order.end()));
}

TEST_P(BackendContract, ConstMembersServeSeveralThreads) {
  const auto buffer = make();
  std::vector<std::thread> threads;
  for(unsigned t = 0; t < buffer.slotCount(); ++t) {
    threads.emplace_back([&buffer, t] {
      const auto data = pattern(5000, t);
      std::vector<std::byte> back(data.size());
      for(int i = 0; i < 50; ++i) {
        EXPECT_TRUE(buffer.upload(t, data));
        EXPECT_TRUE(buffer.download(t, back));
        EXPECT_TRUE(back == data);
        EXPECT_NE(buffer.keepAlive(t), nullptr);
        EXPECT_EQ(buffer.exportRegion().has_value(), GetParam().exportable);
        EXPECT_EQ(buffer.proof().allocated, Answer::Yes);
      }
    });
  }
  for(std::thread& thread : threads)
    thread.join();
}

TEST_P(BackendContract, DistinctBuffersServeDistinctThreads) {
  std::vector<std::thread> threads;
  for(unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for(int i = 0; i < 10; ++i) {
        auto buffer = RdmaGpuBuffer::make(GetParam().config);
        ASSERT_TRUE(buffer) << buffer.error().message();
        EXPECT_TRUE(buffer->upload(0, pattern(100, t)));
      }
    });
  }
  for(std::thread& thread : threads)
    thread.join();
}

TEST_P(BackendContract, IsListed) {
  const auto found = backends();
  const auto it = std::find_if(found.begin(), found.end(),
                               [](const BackendInfo& info) { return info.api == GetParam().config.api; });
  ASSERT_NE(it, found.end());
  EXPECT_TRUE(it->available) << it->reason.message();
  EXPECT_FALSE(it->devices.empty());
}

TEST_P(BackendContract, SharingWorksOrSaysWhyNot) {
  const auto buffer = make();
  const auto shared = buffer.share();
  EXPECT_EQ(shared.has_value(), GetParam().shareable);
  if(!shared) {
    EXPECT_STRNE(shared.error().call, "");
    EXPECT_EQ(shared.error().kind, Errc::Unsupported);
  }
}

} // namespace rdmagpu::test
