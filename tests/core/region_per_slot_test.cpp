#include <core/buffer_state.hpp>
#include <core/fake_device.hpp>
#include <rdmagpu/copy_queue.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace rdmagpu {
namespace {

const RdmaGpuBufferConfig config{.slotCount = 3, .frameBytes = 70'000};

Result<RdmaGpuBuffer> make(test::FakeDevice& device) {
  auto state = core::buildOn("make", RdmaGpuApi::Vulkan, device, config);
  if(!state)
    return state.error();
  return core::BufferAccess::make(*std::move(state));
}

TEST(RegionPerSlot, EachSlotStartsItsRegion) {
  test::FakeDevice device;
  {
    const auto buffer = make(device);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(device.alive, 3);
    EXPECT_EQ(buffer->facts().regionCount, 3U);
    EXPECT_EQ(buffer->facts().committedBytes, 3U * 131072);
    for(std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(buffer->slotOffset(i), 0U);
      EXPECT_EQ(buffer->slot(i).size, 131072U);
      EXPECT_EQ(buffer->slot(i).opaque, &device);
      EXPECT_EQ(kind(buffer->handoff(i)), HandoffKind::VulkanRemoteAddress);
      const std::byte mark{static_cast<unsigned char>(i + 1)};
      ASSERT_TRUE(buffer->upload(i, {&mark, 1}, 100));
    }
    for(std::size_t i = 0; i < 3; ++i) {
      std::byte seen{};
      ASSERT_TRUE(buffer->download(i, {&seen, 1}, 100));
      EXPECT_EQ(seen, std::byte{static_cast<unsigned char>(i + 1)});
    }
  }
  EXPECT_EQ(device.alive, 0);
}

TEST(RegionPerSlot, RefusedSlotUndoesThoseBeforeIt) {
  test::FakeDevice device;
  device.refuseFrom = 2;
  const auto buffer = make(device);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().slot, 2);
  EXPECT_EQ(device.alive, 0);
}

TEST(RegionPerSlot, KeepAliveHoldsItsSlotOnly) {
  test::FakeDevice device;
  auto buffer = make(device);
  ASSERT_TRUE(buffer);
  auto held = buffer->keepAlive(1);
  buffer->destroy();
  EXPECT_EQ(device.alive, 1);
  held.reset();
  EXPECT_EQ(device.alive, 0);
}

TEST(RegionPerSlot, FlushReachesEveryRegionAndTellsAFailure) {
  test::FakeDevice device;
  const auto buffer = make(device);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(buffer->flushPeerWrites());
  EXPECT_EQ(device.flushes, 3);
  device.failFlush = 5;
  EXPECT_FALSE(buffer->flushPeerWrites());
}

TEST(RegionPerSlot, WhatADriverCannotDoIsSaid) {
  test::FakeDevice device;
  const auto buffer = make(device);
  ASSERT_TRUE(buffer);
  EXPECT_STREQ(buffer->exportRegion().error().codeName, "NotExportable");
  EXPECT_STREQ(buffer->exportSlot(0).error().codeName, "NotExportable");
  EXPECT_STREQ(buffer->share().error().codeName, "NotShareable");
  EXPECT_STREQ(CopyQueue::make(*buffer).error().codeName, "NotCopyable");
}

TEST(RegionPerSlot, RegionThatCannotDoMoreSaysSo) {
  test::FakeDevice device;
  const auto region = device.allocate({65536, config});
  ASSERT_TRUE(region);
  EXPECT_STREQ((*region)->openCopies({}).error().codeName, "NotCopyable");
  EXPECT_STREQ((*region)->share().error().codeName, "NotShareable");
}

/// A backend whose memory cannot be shared.
class UnsharedBackend final : public backend::Backend {
public:
  RdmaGpuApi api() const noexcept override { return RdmaGpuApi::Vulkan; }
  HandoffKind handoffKind() const noexcept override { return {}; }
  BackendInfo probe() const override { return {}; }
  Result<backend::DevicePtr> open(const RdmaGpuBufferConfig&) const override {
    return backend::DevicePtr{std::make_shared<test::FakeDevice>()};
  }
};

TEST(RegionPerSlot, BackendThatCannotShareAttachesNothing) {
  EXPECT_STREQ(UnsharedBackend{}.attach({}, 1).error().codeName, "NotShareable");
}

} // namespace
} // namespace rdmagpu
