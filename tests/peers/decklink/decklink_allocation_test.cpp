#include <contract/allocation_faults.hpp>
#include <rdmagpu/peers/decklink.hpp>

namespace rdmagpu::peers {
namespace {

StagedBuffer makeStaged() {
  auto made = StagedBuffer::make({.buffer = {.api = RdmaGpuApi::HostFallback,
                                             .slotCount = 2,
                                             .frameBytes = 1000,
                                             .host = {.lock = PageLock::Off}}});
  EXPECT_TRUE(made);
  return *std::move(made);
}

TEST(DeckLinkAllocation, MakeSurvivesEachFailure) {
  StagedBuffer staged = makeStaged();
  for(int n = 1;; ++n) {
    test::failAllocation(n);
    const auto made = DeckLinkSlots::make(staged);
    const bool failed = test::allocationFailed();
    test::failAllocation(0);
    if(!failed)
      return;
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, Errc::OutOfMemory);
  }
}

TEST(DeckLinkAllocation, ABufferThatCannotBeMadeLeavesItsSlotFree) {
  StagedBuffer staged = makeStaged();
  const auto slots = DeckLinkSlots::make(staged);
  ASSERT_TRUE(slots);
  IDeckLinkVideoBufferAllocator* allocator{};
  test::failAllocation(1);
  EXPECT_EQ(slots->provider()->GetVideoBufferAllocator(1000, 0, 0, 0, bmdFormat8BitYUV, &allocator),
            E_OUTOFMEMORY);
  test::failAllocation(0);
  EXPECT_EQ(allocator, nullptr);
  ASSERT_EQ(slots->provider()->GetVideoBufferAllocator(1000, 0, 0, 0, bmdFormat8BitYUV, &allocator), S_OK);
  IDeckLinkVideoBuffer* buffers[2]{};
  for(int i = 0; i < 3; ++i) {
    test::failAllocation(1);
    EXPECT_EQ(allocator->AllocateVideoBuffer(&buffers[0]), E_OUTOFMEMORY);
    test::failAllocation(0);
    EXPECT_EQ(buffers[0], nullptr);
  }
  for(IDeckLinkVideoBuffer*& buffer : buffers) // both slots are still there
    ASSERT_EQ(allocator->AllocateVideoBuffer(&buffer), S_OK);
  for(IDeckLinkVideoBuffer* buffer : buffers)
    buffer->Release();
  allocator->Release();
}

} // namespace
} // namespace rdmagpu::peers
