#include "software_card.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

namespace rdmagpu::vhdtest {
namespace {

using testing::ElementsAre;

constexpr ULONG good = VHDERR_NOERROR;

/// What would pass unseen if the card did not look.
class SoftwareCard : public testing::Test {
protected:
  using Descriptors = std::array<VHD_APPLICATION_BUFFER_DESCRIPTOR, NB_VHD_SDI_BUFFERTYPE>;

  void SetUp() override {
    reset();
    stream = openStream(VHD_ST_RX0);
    VHD_InitApplicationBuffers(stream);
  }
  void TearDown() override {
    VHD_CloseStreamHandle(stream);
    std::free(memory);
  }

  Descriptors descriptors(ULONG type) const {
    Descriptors all{};
    for(auto& one : all)
      one.Size = sizeof one;
    all[type].pBuffer = memory;
    return all;
  }
  HANDLE createSlot() {
    HANDLE slot{};
    EXPECT_EQ(VHD_CreateSlotEx(stream, descriptors(VHD_SDI_BT_VIDEO).data(), &slot), good);
    return slot;
  }

  HANDLE stream{};
  BYTE* memory = static_cast<BYTE*>(std::aligned_alloc(4096, 102'400));
};

TEST_F(SoftwareCard, WantsTheDescriptorsByType) {
  HANDLE slot{};
  EXPECT_NE(VHD_CreateSlotEx(stream, descriptors(0).data(), &slot), good);
  EXPECT_THAT(violations(), ElementsAre("VHD_CreateSlotEx: the array is indexed by type"));
}

TEST_F(SoftwareCard, WantsTheDescriptorsSize) {
  HANDLE slot{};
  Descriptors all = descriptors(VHD_SDI_BT_VIDEO);
  all[1].Size = 0;
  EXPECT_NE(VHD_CreateSlotEx(stream, all.data(), &slot), good);
  EXPECT_THAT(violations(), ElementsAre("VHD_CreateSlotEx: a descriptor without its size"));
}

TEST_F(SoftwareCard, WantsApplicationBuffersBeforeSlots) {
  HANDLE other = openStream(VHD_ST_RX0);
  HANDLE slot{};
  EXPECT_NE(VHD_CreateSlotEx(other, descriptors(VHD_SDI_BT_VIDEO).data(), &slot), good);
  EXPECT_EQ(violations().size(), 1U);
  VHD_CloseStreamHandle(other);
}

TEST_F(SoftwareCard, WantsASlotInItsQueueBeforeItStarts) {
  createSlot();
  EXPECT_NE(VHD_StartStream(stream), good);
  EXPECT_THAT(violations(), ElementsAre("VHD_StartStream: no slot is queued"));
}

TEST_F(SoftwareCard, KnowsSlotsThatAreGone) {
  HANDLE slot = createSlot();
  EXPECT_EQ(VHD_DestroySlot(slot), good);
  EXPECT_NE(VHD_DestroySlot(slot), good);
  EXPECT_NE(VHD_QueueInSlot(slot), good);
  EXPECT_THAT(violations(), ElementsAre("VHD_DestroySlot: no such slot", "VHD_QueueInSlot: no such slot"));
}

TEST_F(SoftwareCard, QueuesASlotOnceAndInItsDirection) {
  HANDLE slot = createSlot();
  EXPECT_EQ(VHD_QueueInSlot(slot), good);
  EXPECT_NE(VHD_QueueInSlot(slot), good);
  EXPECT_NE(VHD_QueueOutSlot(slot), good);
  EXPECT_EQ(violations().size(), 2U);
}

TEST_F(SoftwareCard, DestroysNoSlotThatIsQueued) {
  HANDLE slot = createSlot();
  EXPECT_EQ(VHD_QueueInSlot(slot), good);
  EXPECT_NE(VHD_DestroySlot(slot), good);
  EXPECT_EQ(liveSlots(), 1U);
}

TEST_F(SoftwareCard, StoppingAStreamDestroysItsSlots) {
  HANDLE slot = createSlot();
  EXPECT_EQ(VHD_QueueInSlot(slot), good);
  EXPECT_EQ(VHD_StartStream(stream), good);
  EXPECT_EQ(VHD_StopStream(stream), good);
  EXPECT_EQ(liveSlots(), 0U);
}

} // namespace
} // namespace rdmagpu::vhdtest
