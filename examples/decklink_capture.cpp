// Captures from a DeckLink card. The SDK receives into host memory only: the program's slots are on a GPU if
// there is one, and each frame is copied there while the next one arrives. Built by whoever has the SDK, e.g.
// g++ -std=c++20 decklink_capture.cpp DeckLinkAPIDispatch.cpp $(pkg-config --cflags --libs rdmagpu) and the
// SDK's folder
#include <rdmagpu/peers/decklink.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;

int fail(const rdmagpu::Error& error) { return std::fprintf(stderr, "%s\n", error.message().c_str()), 1; }

/// Lives on the stack, longer than the input that calls it.
class Arrivals final : public IDeckLinkInputCallback {
public:
  explicit Arrivals(rdmagpu::peers::DeckLinkSlots& slots) : m_slots(slots) {}
  HRESULT STDMETHODCALLTYPE VideoInputFrameArrived(IDeckLinkVideoInputFrame* frame,
                                                   IDeckLinkAudioInputPacket*) override {
    BMDTimeValue time{};
    BMDTimeValue duration{};
    if(frame && (frame->GetFlags() & bmdFrameHasNoInputSource) == 0 &&
       frame->GetStreamTime(&time, &duration, 1'000'000'000) == S_OK && !m_slots.publish(*frame, time))
      std::fprintf(stderr, "a frame was lost\n");
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE VideoInputFormatChanged(BMDVideoInputFormatChangedEvents, IDeckLinkDisplayMode*,
                                                    BMDDetectedVideoInputFormatFlags) override {
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void**) override { return E_NOINTERFACE; }
  ULONG STDMETHODCALLTYPE AddRef() override { return 2; }
  ULONG STDMETHODCALLTYPE Release() override { return 1; }

private:
  rdmagpu::peers::DeckLinkSlots& m_slots;
};

int consume(rdmagpu::StagedBuffer& staged) {
  rdmagpu::RingFrame frame;
  for(int n = 0; n < 25; ++n) {
    if(staged.ring().take(frame, 5s) != rdmagpu::RingStatus::Ok ||
       staged.ring().waitBytes(frame.slot, frame.bytes, 5s) != rdmagpu::RingStatus::Ok)
      return std::fprintf(stderr, "no frame\n"), 1;
    const auto sum = staged.applicationBuffer().checksum(frame.slot, frame.bytes);
    std::printf("frame %d: %016llx\n", n, sum ? static_cast<unsigned long long>(*sum) : 0);
    staged.ring().release(frame.slot);
  }
  return 0;
}

int capture(IDeckLinkInput& input) {
  rdmagpu::StagedBufferConfig config;
  config.buffer = {.api = rdmagpu::RdmaGpuApi::Auto, .slotCount = 8, .frameBytes = 1920 * 1080 * 2};
  config.buffer.accepts = rdmagpu::peers::DeckLinkSlots::accepts();
  auto staged = rdmagpu::StagedBuffer::make(config);
  if(!staged)
    return fail(staged.error());
  auto slots = rdmagpu::peers::DeckLinkSlots::make(*staged);
  if(!slots)
    return fail(slots.error());
  std::printf("frames in %s, %s\n", staged->facts().application.device.c_str(), name(staged->path()));
  Arrivals arrivals{*slots};
  if(input.EnableVideoInputWithAllocatorProvider(bmdModeHD1080p25, bmdFormat8BitYUV, bmdVideoInputFlagDefault,
                                                 slots->provider()) != S_OK)
    return fail(slots->error());
  input.SetCallback(&arrivals);
  const int result = input.StartStreams() == S_OK ? consume(*staged) : 1;
  input.StopStreams();
  input.DisableVideoInput();
  input.SetCallback(nullptr);
  return result;
}

} // namespace

int main() {
  IDeckLinkIterator* iterator = CreateDeckLinkIteratorInstance(); // null: no driver
  IDeckLink* card{};
  void* input{};
  if(!iterator || iterator->Next(&card) != S_OK || card->QueryInterface(IID_IDeckLinkInput, &input) != S_OK)
    return std::fprintf(stderr, "no DeckLink input\n"), 1;
  const int result = capture(*static_cast<IDeckLinkInput*>(input));
  static_cast<IDeckLinkInput*>(input)->Release();
  card->Release();
  iterator->Release();
  return result;
}
