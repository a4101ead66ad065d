#include "software_decklink.hpp"

#include <contract/cuda_driver.hpp>
#include <rdmagpu/peers/decklink.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <optional>

namespace rdmagpu::decklinktest {
namespace {

using peers::DeckLinkSlots;
using testing::IsEmpty;

constexpr std::chrono::nanoseconds ample = std::chrono::minutes{5};
constexpr std::size_t frameBytes = 100'000;

class Callback final : public peers::detail::ComObject<IDeckLinkInputCallback> {
public:
  explicit Callback(std::function<void(IDeckLinkVideoInputFrame&)> arrived)
      : ComObject(IID_IDeckLinkInputCallback), m_arrived(std::move(arrived)) {}
  HRESULT VideoInputFormatChanged(BMDVideoInputFormatChangedEvents, IDeckLinkDisplayMode*,
                                  BMDDetectedVideoInputFormatFlags) override {
    return S_OK;
  }
  HRESULT VideoInputFrameArrived(IDeckLinkVideoInputFrame* frame, IDeckLinkAudioInputPacket*) override {
    m_arrived(*frame);
    return S_OK;
  }

private:
  std::function<void(IDeckLinkVideoInputFrame&)> m_arrived;
};

StagedBuffer makeStaged(RdmaGpuApi api, std::optional<FrameProofConfig> proof = {}, std::uint32_t slots = 6) {
  auto made = StagedBuffer::make({.buffer = {.api = api,
                                             .slotCount = slots,
                                             .frameBytes = frameBytes,
                                             .accepts = DeckLinkSlots::accepts(),
                                             .host = {.lock = PageLock::Off}},
                                  .sliceBytes = 8192,
                                  .proof = proof});
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

DeckLinkSlots makeSlots(StagedBuffer& staged) {
  auto made = DeckLinkSlots::make(staged);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

class DeckLink : public test::OnCudaStandin {
protected:
  void SetUp() override {
    OnCudaStandin::SetUp();
    reset();
  }
  void TearDown() override {
    OnCudaStandin::TearDown();
    EXPECT_THAT(violations(), IsEmpty());
    EXPECT_EQ(liveObjects(), 0U);
  }

  void start(DeckLinkSlots& slots, std::function<void(IDeckLinkVideoInputFrame&)> arrived = {}) {
    input = openInput();
    ASSERT_EQ(input->EnableVideoInputWithAllocatorProvider(bmdModeHD1080p25, bmdFormat8BitYUV,
                                                           bmdVideoInputFlagDefault, slots.provider()),
              S_OK);
    if(!arrived)
      arrived = [&slots](IDeckLinkVideoInputFrame& frame) { EXPECT_TRUE(slots.publish(frame, 0)); };
    auto* callback = new Callback{std::move(arrived)};
    input->SetCallback(callback);
    callback->Release();
    ASSERT_EQ(input->StartStreams(), S_OK);
  }
  void stop(DeckLinkSlots& slots) {
    EXPECT_EQ(input->StopStreams(), S_OK);
    input->SetCallback(nullptr);
    input->DisableVideoInput();
    input->Release();
    slots.close();
  }

  /// Each must be the card's, of a rising number.
  static void expectFrames(StagedBuffer& staged, int count) {
    std::optional<std::uint64_t> last;
    for(int i = 0; i < count; ++i) {
      RingFrame frame;
      ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
      ASSERT_EQ(staged.ring().waitBytes(frame.slot, frame.bytes, ample), RingStatus::Ok);
      ASSERT_EQ(frame.bytes, frameBytes);
      Bytes bytes(frame.bytes);
      ASSERT_TRUE(staged.applicationBuffer().download(frame.slot, bytes));
      std::uint64_t n{};
      std::memcpy(&n, bytes.data(), sizeof n);
      ASSERT_EQ(bytes, frameOf(n, bytes.size()));
      EXPECT_TRUE(!last || n > *last);
      last = n;
      ASSERT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
    }
  }

  IDeckLinkInput* input{};
};

TEST_F(DeckLink, ReceivesIntoHostSlotsAndThroughThemIntoAGpus) {
  for(const RdmaGpuApi api : {RdmaGpuApi::HostFallback, RdmaGpuApi::Cuda}) {
    StagedBuffer staged = makeStaged(api);
    EXPECT_EQ(staged.path(), api == RdmaGpuApi::Cuda ? SlotPath::Staged : SlotPath::Direct);
    DeckLinkSlots slots = makeSlots(staged);
    start(slots);
    expectFrames(staged, 30);
    stop(slots);
  }
}

TEST_F(DeckLink, ABufferThatWasNotPublishedIsFreeAgain) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  int n = 0;
  start(slots,
        [&](IDeckLinkVideoInputFrame& frame) { EXPECT_TRUE(n++ % 4 != 0 || slots.publish(frame, 0)); });
  expectFrames(staged, 10); // 40 frames in 6 slots
  stop(slots);
}

TEST_F(DeckLink, FramesThatTheSdkKeepsForAWhileAreNoHarm) {
  reset({.held = 3, .period = std::chrono::microseconds{100}});
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  start(slots);
  expectFrames(staged, 200);
  stop(slots);
}

TEST_F(DeckLink, AFrameThatTheSdkKeepsDoesNotFreeItsSlotOnceItIsAnothers) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  IDeckLinkVideoBufferAllocator* allocator{};
  ASSERT_EQ(slots.provider()->GetVideoBufferAllocator(frameBytes, 0, 0, 0, bmdFormat8BitYUV, &allocator),
            S_OK);
  IDeckLinkVideoBuffer* buffers[3]{};
  ASSERT_EQ(allocator->AllocateVideoBuffer(&buffers[0]), S_OK);
  void* first{};
  buffers[0]->GetBytes(&first);
  IDeckLinkVideoInputFrame* kept = makeFrame(buffers[0]);
  ASSERT_TRUE(slots.publish(*kept, 0));
  RingFrame frame;
  ASSERT_EQ(staged.ring().take(frame, ample), RingStatus::Ok);
  ASSERT_EQ(staged.ring().release(frame.slot), RingStatus::Ok);
  void* bytes[2]{};
  ASSERT_EQ(allocator->AllocateVideoBuffer(&buffers[1]), S_OK);
  buffers[1]->GetBytes(&bytes[0]);
  ASSERT_EQ(bytes[0], first); // the slot that was freed last
  kept->Release();
  ASSERT_EQ(allocator->AllocateVideoBuffer(&buffers[2]), S_OK);
  buffers[2]->GetBytes(&bytes[1]);
  EXPECT_NE(bytes[1], bytes[0]);
  buffers[1]->Release();
  buffers[2]->Release();
  allocator->Release();
}

TEST_F(DeckLink, WithoutAFreeSlotTheFrameIsLostAndTheNextOnesAreNot) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback, {}, 3);
  DeckLinkSlots slots = makeSlots(staged);
  start(slots);
  while(lostFrames() < 5)
    std::this_thread::yield();
  expectFrames(staged, 10);
  stop(slots);
}

TEST_F(DeckLink, ABufferOutlivesAllElse) {
  IDeckLinkVideoBufferAllocatorProvider* provider{};
  IDeckLinkVideoBufferAllocator* allocator{};
  IDeckLinkVideoBuffer* buffer{};
  void* bytes{};
  {
    StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
    const DeckLinkSlots slots = makeSlots(staged);
    provider = slots.provider();
    provider->AddRef();
    ASSERT_EQ(provider->GetVideoBufferAllocator(frameBytes, 0, 0, 0, bmdFormat8BitYUV, &allocator), S_OK);
    ASSERT_EQ(allocator->AllocateVideoBuffer(&buffer), S_OK);
    ASSERT_EQ(buffer->GetBytes(&bytes), S_OK);
    EXPECT_EQ(bytes, cpuAddress(staged.handoff(0)));
  }
  std::memset(bytes, 1, frameBytes);
  IDeckLinkVideoBuffer* another{};
  EXPECT_EQ(allocator->AllocateVideoBuffer(&another), E_OUTOFMEMORY);
  EXPECT_EQ(another, nullptr);
  EXPECT_EQ(buffer->Release(), 0U);
  EXPECT_EQ(allocator->Release(), 0U);
  IDeckLinkVideoBufferAllocator* late{};
  EXPECT_EQ(provider->GetVideoBufferAllocator(1, 0, 0, 0, bmdFormat8BitYUV, &late), E_OUTOFMEMORY);
  EXPECT_EQ(provider->Release(), 0U);
}

TEST_F(DeckLink, CountsReferencesAndKnowsItsInterface) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  const DeckLinkSlots slots = makeSlots(staged);
  void* object{};
  for(const REFIID& iid : {IID_IUnknown, IID_IDeckLinkVideoBufferAllocatorProvider}) {
    EXPECT_EQ(slots.provider()->QueryInterface(iid, &object), S_OK);
    EXPECT_EQ(object, slots.provider());
    EXPECT_EQ(slots.provider()->Release(), 1U);
  }
  EXPECT_EQ(slots.provider()->QueryInterface(IID_IDeckLinkInput, &object), E_NOINTERFACE);
  EXPECT_EQ(object, nullptr);
  EXPECT_EQ(slots.provider()->QueryInterface(IID_IUnknown, nullptr), E_POINTER);
}

TEST_F(DeckLink, SlotsThatAreTooSmallForTheFormatAreRefused) {
  reset({.rowBytes = 1000, .height = 200});
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  input = openInput();
  EXPECT_EQ(input->EnableVideoInputWithAllocatorProvider(bmdModeHD1080p25, bmdFormat8BitYUV,
                                                         bmdVideoInputFlagDefault, slots.provider()),
            E_OUTOFMEMORY);
  input->Release();
  EXPECT_STREQ(slots.error().codeName, "PeerSlotsTooSmall");
  EXPECT_EQ(slots.error().bytes, 200'000U);
  EXPECT_EQ(slots.error().available, 131'072U);
}

TEST_F(DeckLink, AGpusMemoryIsRefused) {
  auto staged =
      StagedBuffer::make({.buffer = {.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = frameBytes},
                          .path = SlotPath::Direct});
  ASSERT_TRUE(staged) << staged.error().message();
  const auto slots = DeckLinkSlots::make(*staged);
  ASSERT_FALSE(slots);
  EXPECT_STREQ(slots.error().codeName, "PeerCannotAddress");
}

TEST_F(DeckLink, AFrameThatIsInNoSlotIsRefused) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  IDeckLinkVideoInputFrame* frame = makeFrame();
  const auto published = slots.publish(*frame, 0);
  ASSERT_FALSE(published);
  EXPECT_STREQ(published.error().codeName, "PeerUnknownSlot");
  const std::pair<const char*, const char*> calls[] = {
      {"QueryInterface", "QueryInterface (IDeckLinkVideoBuffer)"},
      {"StartAccess", "IDeckLinkVideoBuffer::StartAccess"},
      {"GetBytes", "IDeckLinkVideoBuffer::GetBytes"}};
  for(const auto& [call, told] : calls) {
    reset({.failing = {{call, E_FAIL}}});
    const auto failed = slots.publish(*frame, 0);
    ASSERT_FALSE(failed);
    EXPECT_STREQ(failed.error().call, told);
    EXPECT_LT(failed.error().code, 0);
  }
  frame->Release();
}

TEST_F(DeckLink, AFrameThatIsLargerThanItsSlotIsRefused) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  std::atomic<int> refused{};
  start(slots, [&](IDeckLinkVideoInputFrame& frame) {
    struct Larger final : IDeckLinkVideoFrame {
      IDeckLinkVideoInputFrame* frame{};
      HRESULT QueryInterface(REFIID iid, LPVOID* object) override {
        return frame->QueryInterface(iid, object);
      }
      ULONG AddRef() override { return 2; }
      ULONG Release() override { return 1; }
      long GetHeight() override { return 1000; }
      long GetRowBytes() override { return 1000; }
      BMDFrameFlags GetFlags() override { return 0; }
    } larger;
    larger.frame = &frame;
    const auto published = slots.publish(larger, 0);
    EXPECT_FALSE(published);
    EXPECT_STREQ(published.error().codeName, "PeerSlotsTooSmall");
    ++refused;
  });
  while(refused < 20)
    std::this_thread::yield();
  stop(slots);
}

TEST_F(DeckLink, AConsumerThatHasClosedLeavesTheSlotsToTheSdk) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  start(slots);
  expectFrames(staged, 3);
  staged.ring().closeConsumer();
  while(lostFrames() < 5)
    std::this_thread::yield();
  stop(slots);
}

TEST_F(DeckLink, AFrameThatWasNotWrittenFailsOverAndIsADrop) {
  reset({.silentFrame = 10});
  StagedBuffer staged =
      makeStaged(RdmaGpuApi::HostFallback, FrameProofConfig{.onFault = FaultPolicy::FailOver});
  DeckLinkSlots slots = makeSlots(staged);
  start(slots);
  expectFrames(staged, 30);
  EXPECT_EQ(staged.path(), SlotPath::Staged);
  EXPECT_GE(staged.ring().counters().drops, 1U);
  stop(slots);
}

TEST_F(DeckLink, MovesAndClosesOnce) {
  StagedBuffer staged = makeStaged(RdmaGpuApi::HostFallback);
  StagedBuffer second = makeStaged(RdmaGpuApi::HostFallback);
  DeckLinkSlots slots = makeSlots(staged);
  DeckLinkSlots moved{std::move(slots)};
  moved = makeSlots(second);
  std::uint32_t slot{};
  EXPECT_EQ(staged.ring().tryAcquire(slot), RingStatus::Closed);
  EXPECT_EQ(second.ring().tryAcquire(slot), RingStatus::Ok);
  moved.close();
  moved.close();
  EXPECT_EQ(second.ring().tryAcquire(slot), RingStatus::Closed);
  EXPECT_EQ(moved.error().kind, Errc::None);
}

} // namespace
} // namespace rdmagpu::decklinktest
