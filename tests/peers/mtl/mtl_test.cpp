#include "software_mtl.hpp"

#include <contract/cuda_driver.hpp>
#include <rdmagpu/peers/mtl.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <utility>

namespace rdmagpu::mtltest {
namespace {

using peers::mtlExtFrame;
using peers::mtlRegistrar;
using peers::PeerRegistration;
using testing::IsEmpty;

constexpr std::uint32_t width = 200;
constexpr std::uint32_t height = 200;
constexpr std::size_t frameBytes = 100'000; ///< Of that picture.

class Mtl : public test::OnCudaStandin {
protected:
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_EQ(mapped(), 0U);
  }
  static RdmaGpuBuffer makeBuffer(RdmaGpuApi api) {
    auto made = RdmaGpuBuffer::make(
        {.api = api, .slotCount = 3, .frameBytes = frameBytes, .host = {.lock = PageLock::Off}});
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
};

TEST_F(Mtl, OneMappingHasAnIovaForEachSlot) {
  const mtl_handle mtl = start();
  const RdmaGpuBuffer buffer = makeBuffer(RdmaGpuApi::HostFallback);
  auto made = PeerRegistration::make(buffer, mtlRegistrar(mtl));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(mapped(), 1U);
  const st_ext_frame first = mtlExtFrame(made->slot(0), frameBytes);
  const st_ext_frame third = mtlExtFrame(made->slot(2), frameBytes);
  EXPECT_EQ(third.addr[0], cpuAddress(buffer.handoff(2)));
  EXPECT_EQ(third.iova[0], first.iova[0] + 2U * 131072);
  EXPECT_EQ(third.size, frameBytes);
  EXPECT_EQ(made->proof().written, Answer::Unknown); // a mapping is no proof
}

TEST_F(Mtl, AMappingThatIsRefusedSaysSo) {
  const mtl_handle mtl = start();
  fail({"mtl_dma_map"});
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::HostFallback), mtlRegistrar(mtl));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "mtl_dma_map failed: MTL_BAD_IOVA (-1); asked 393216");
}

TEST_F(Mtl, PagesThatAreLargerThanTheRegionAreRefusedBeforehand) {
  const mtl_handle mtl = start(std::size_t{1} << 50U);
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::HostFallback), mtlRegistrar(mtl));
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().codeName, "PeerAddressAlignment");
}

TEST_F(Mtl, AGpusMemoryIsRefused) {
  const mtl_handle mtl = start();
  const auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::Cuda), mtlRegistrar(mtl));
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().codeName, "PeerCannotAddress");
}

TEST_F(Mtl, AnUnmapThatFailsIsTriedAgain) {
  const mtl_handle mtl = start();
  auto made = PeerRegistration::make(makeBuffer(RdmaGpuApi::HostFallback), mtlRegistrar(mtl));
  ASSERT_TRUE(made);
  fail({"mtl_dma_unmap"});
  const auto released = made->release();
  ASSERT_FALSE(released);
  EXPECT_STREQ(released.error().call, "mtl_dma_unmap");
  EXPECT_EQ(released.error().code, -5);
  fail({});
  EXPECT_TRUE(made->release());
}

TEST_F(Mtl, ASessionReceivesIntoTheSlotsOfARing) {
  for(const RdmaGpuApi api : {RdmaGpuApi::HostFallback, RdmaGpuApi::Cuda}) {
    const mtl_handle mtl = start();
    auto staged = StagedBuffer::make({.buffer = {.api = api,
                                                 .slotCount = 3,
                                                 .frameBytes = frameBytes,
                                                 .accepts = mtlRegistrar(mtl).limits.accepts,
                                                 .host = {.lock = PageLock::Off}},
                                      .sliceBytes = 8192});
    ASSERT_TRUE(staged) << staged.error().message();
    auto made = PeerRegistration::make(*staged, mtlRegistrar(mtl));
    ASSERT_TRUE(made);
    std::vector<st_ext_frame> frames;
    for(std::uint32_t slot = 0, got{}; slot < 3; ++slot) {
      ASSERT_EQ(staged->ring().tryAcquire(got), RingStatus::Ok); // the session has them all
      frames.push_back(mtlExtFrame(made->slot(slot), frameBytes));
    }
    st20p_rx_ops ops{};
    ops.width = width;
    ops.height = height;
    ops.framebuff_cnt = 3;
    ops.ext_frames = frames.data();
    const st20p_rx_handle session = st20p_rx_create(mtl, &ops);
    for(std::uint64_t n = 0; n < 10; ++n) {
      st_frame* frame = st20p_rx_get_frame(session);
      ASSERT_NE(frame, nullptr);
      const auto slot = made->slot(HostPointer{frame->addr[0]});
      ASSERT_EQ(slot.bytes, 131072U);
      ASSERT_EQ(staged->ring().publish(slot.slot, 0, frame->data_size), RingStatus::Ok);
      RingFrame taken;
      ASSERT_EQ(staged->ring().take(taken, std::chrono::minutes{1}), RingStatus::Ok);
      ASSERT_EQ(staged->ring().waitBytes(taken.slot, taken.bytes, std::chrono::minutes{1}), RingStatus::Ok);
      std::vector<std::byte> bytes(taken.bytes);
      ASSERT_TRUE(staged->applicationBuffer().download(taken.slot, bytes));
      EXPECT_EQ(bytes, frameOf(n, frameBytes));
      ASSERT_EQ(staged->ring().release(taken.slot), RingStatus::Ok);
      std::uint32_t free{};
      ASSERT_EQ(staged->ring().acquire(free, std::chrono::minutes{1}), RingStatus::Ok);
      ASSERT_EQ(free, slot.slot);
      ASSERT_EQ(st20p_rx_put_frame(session, frame), 0);
    }
    st20p_rx_free(session);
  }
}

} // namespace
} // namespace rdmagpu::mtltest
