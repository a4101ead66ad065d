#include <contract/cuda_vulkan.hpp>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

/// Slots of CUDA's that are also buffers of Vulkan's, on a GPU or on what stands in for one.
namespace rdmagpu::test {
namespace {

std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> made(bytes);
  for(std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>((seed + i) * 0x9E3779B97F4A7C15U >> 56);
  return made;
}

TEST_F(CudaVulkan, WhatCudaWritesVulkanReads) {
  const auto buffer = RdmaGpuBuffer::make(user().config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(std::size_t i = 0; i < buffer->slotCount(); ++i)
    ASSERT_TRUE(buffer->upload(i, noise(buffer->slot(i).size, i)));
  for(std::size_t i = 0; i < buffer->slotCount(); ++i) {
    const auto slot = interop::vulkanSlot(*buffer, i);
    ASSERT_TRUE(slot);
    std::vector<std::byte> seen(slot->size);
    ASSERT_TRUE(user().copier().download(slot->buffer, slot->offset, seen));
    EXPECT_EQ(seen, noise(slot->size, i)) << "slot " << i;
  }
}

TEST_F(CudaVulkan, WhatVulkanWritesCudaReads) {
  const auto buffer = RdmaGpuBuffer::make(user().config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  for(std::size_t i = 0; i < buffer->slotCount(); ++i) {
    const auto slot = interop::vulkanSlot(*buffer, i);
    ASSERT_TRUE(slot);
    ASSERT_TRUE(user().copier().upload(slot->buffer, slot->offset, noise(slot->size, 100 + i)));
  }
  for(std::size_t i = 0; i < buffer->slotCount(); ++i) {
    std::vector<std::byte> seen(buffer->slot(i).size);
    ASSERT_TRUE(buffer->download(i, seen));
    EXPECT_EQ(seen, noise(seen.size(), 100 + i)) << "slot " << i;
  }
}

TEST_F(CudaVulkan, PeersReachThemAsTheyReachCudasAlone) {
  const auto alone = RdmaGpuBuffer::make(cudaConfig(CudaMemory::Vmm));
  const auto both = RdmaGpuBuffer::make(user().config());
  ASSERT_TRUE(alone) << alone.error().message();
  ASSERT_TRUE(both) << both.error().message();
  int capable{};
  const auto& cuda = CudaDriver::instance().functions;
  EXPECT_EQ(cuda.pointerGetAttribute(&capable, api::PointerAttribute::IsGpuDirectRdmaCapable,
                                     reinterpret_cast<api::DevicePtr>(both->slot(1).gpuVA)),
            api::Status::Success);
  EXPECT_EQ(capable, 1);
  EXPECT_EQ(both->facts().rdmaCapable, Answer::Yes);
  EXPECT_TRUE(both->facts().alsoVulkan);
  EXPECT_FALSE(alone->facts().alsoVulkan);
  EXPECT_EQ(both->facts().cudaMemory, CudaMemory::Vmm);
  EXPECT_EQ(both->facts().committedBytes, alone->facts().committedBytes);

  const auto expected = alone->exportSlot(1);
  const auto exported = both->exportSlot(1);
  EXPECT_EQ(static_cast<bool>(exported), static_cast<bool>(expected)) << exported.error().message();
  const auto expectedRegion = alone->exportRegion();
  const auto region = both->exportRegion();
  EXPECT_EQ(static_cast<bool>(region), static_cast<bool>(expectedRegion)) << region.error().message();
}

TEST_F(CudaVulkan, EachSlotLiesInOneBufferAtItsOffset) {
  const auto buffer = RdmaGpuBuffer::make(user().config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto first = interop::vulkanSlot(*buffer, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->device, user().device()->handle());
  for(std::size_t i = 0; i < buffer->slotCount(); ++i) {
    const auto slot = interop::vulkanSlot(*buffer, i);
    ASSERT_TRUE(slot);
    EXPECT_EQ(slot->buffer, first->buffer);
    EXPECT_EQ(slot->memory, first->memory);
    EXPECT_EQ(slot->offset, buffer->slotOffset(i));
    EXPECT_EQ(slot->size, buffer->slot(i).size);
    EXPECT_LT(slot->memoryType, user().device()->gpu().memory.memoryTypeCount);
  }
  EXPECT_FALSE(interop::vulkanSlot(*buffer, buffer->slotCount()));
}

TEST_F(CudaVulkan, DeviceIsTheLibrarysOwnWhereTheCallerHasNone) {
  auto buffer = RdmaGpuBuffer::make(alsoVulkanConfig());
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto slot = interop::vulkanSlot(*buffer, 1);
  ASSERT_TRUE(slot);
  EXPECT_NE(slot->device, nullptr);
  EXPECT_NE(slot->device, user().device()->handle());
  EXPECT_NE(slot->buffer, nullptr);
  EXPECT_EQ(buffer->facts().rdmaCapable, Answer::Yes);
  const auto bytes = noise(slot->size, 7);
  std::vector<std::byte> seen(bytes.size());
  ASSERT_TRUE(buffer->upload(1, bytes));
  ASSERT_TRUE(buffer->download(1, seen));
  EXPECT_EQ(seen, bytes);
}

TEST_F(CudaVulkan, MemoryLivesAsLongAsAnExportWhateverWasDestroyedFirst) {
  auto buffer = RdmaGpuBuffer::make(user().config());
  ASSERT_TRUE(buffer) << buffer.error().message();
  auto kept = buffer->exportRegion();
  if(!kept)
    GTEST_SKIP() << "no dma-buf here: " << kept.error().message();
  ASSERT_TRUE(buffer->upload(2, noise(1000, 5)));
  const auto slot = interop::vulkanSlot(*buffer, 2);
  ASSERT_TRUE(slot);
  *buffer = {};
  std::vector<std::byte> seen(1000);
  ASSERT_TRUE(user().copier().download(slot->buffer, slot->offset, seen));
  EXPECT_EQ(seen, noise(1000, 5));
}

TEST_F(CudaVulkan, SlotsComeAndGoManyTimes) {
  for(int i = 0; i < 20; ++i) {
    auto config = user().config();
    config.zeroFill = config.scrubOnDestroy = true;
    const auto buffer = RdmaGpuBuffer::make(config);
    ASSERT_TRUE(buffer) << buffer.error().message();
    const auto slot = interop::vulkanSlot(*buffer, 3);
    std::vector<std::byte> seen(slot->size, std::byte{1});
    ASSERT_TRUE(user().copier().download(slot->buffer, slot->offset, seen));
    EXPECT_EQ(seen, std::vector<std::byte>(slot->size)) << "not cleared";
  }
}

} // namespace
} // namespace rdmagpu::test
