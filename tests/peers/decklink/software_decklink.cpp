#include "software_decklink.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace rdmagpu::decklinktest {
namespace {

struct Card {
  ~Card() {
    for(const std::string& rule : violations)
      std::fprintf(stderr, "%s\n", rule.c_str());
    if(!violations.empty())
      std::_Exit(3); // a program that breaks a rule fails
  }
  CardConfig config;
  std::mutex mutex; ///< Of what follows.
  std::vector<std::string> violations;
  std::atomic<std::size_t> objects{};
  std::atomic<std::uint64_t> lost{};
};

Card& card() {
  static Card one;
  return one;
}

void broken(const std::string& rule) {
  const std::lock_guard lock{card().mutex};
  card().violations.push_back(rule);
}

/// What a call was told to answer.
HRESULT told(const char* call) {
  const auto found = card().config.failing.find(call);
  return found == card().config.failing.end() ? S_OK : found->second;
}

bool same(const REFIID& a, const REFIID& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

template <class Interface>
class Object : public Interface {
public:
  Object() { ++card().objects; }
  Object(Object&&) = delete;
  HRESULT QueryInterface(REFIID, LPVOID* object) override {
    *object = nullptr;
    return E_NOINTERFACE;
  }
  ULONG AddRef() override { return ++m_references; }
  ULONG Release() override {
    const ULONG left = --m_references;
    if(left == 0)
      delete this;
    return left;
  }

protected:
  virtual ~Object() { --card().objects; }

private:
  std::atomic<ULONG> m_references{1};
};

/// A frame's buffer as the SDK shows it: only while it is accessed.
class Access final : public Object<IDeckLinkVideoBuffer> {
public:
  explicit Access(IDeckLinkVideoBuffer* buffer) : m_buffer(buffer) { m_buffer->AddRef(); }
  HRESULT GetBytes(void** bytes) override {
    if(!m_accessed) {
      broken("GetBytes: not between StartAccess and EndAccess");
      return E_ACCESSDENIED;
    }
    const HRESULT result = told("GetBytes");
    return result == S_OK ? m_buffer->GetBytes(bytes) : result;
  }
  HRESULT GetSize(uint64_t* size) override { return m_buffer->GetSize(size); }
  HRESULT StartAccess(BMDBufferAccessFlags) override {
    const HRESULT result = told("StartAccess");
    m_accessed += result == S_OK ? 1 : 0;
    return result;
  }
  HRESULT EndAccess(BMDBufferAccessFlags) override {
    if(m_accessed-- == 0)
      broken("EndAccess: without StartAccess");
    return S_OK;
  }

private:
  ~Access() override {
    if(m_accessed != 0)
      broken("Release: of a buffer that is accessed");
    m_buffer->Release();
  }
  IDeckLinkVideoBuffer* m_buffer;
  int m_accessed{};
};

class OwnBuffer final : public Object<IDeckLinkVideoBuffer> {
public:
  HRESULT GetBytes(void** bytes) override {
    *bytes = m_bytes;
    return S_OK;
  }
  HRESULT GetSize(uint64_t* size) override {
    *size = sizeof m_bytes;
    return S_OK;
  }
  HRESULT StartAccess(BMDBufferAccessFlags) override { return S_OK; }
  HRESULT EndAccess(BMDBufferAccessFlags) override { return S_OK; }

private:
  unsigned char m_bytes[64]{};
};

class Frame final : public Object<IDeckLinkVideoInputFrame> {
public:
  explicit Frame(IDeckLinkVideoBuffer* buffer) : m_buffer(buffer) {}
  HRESULT QueryInterface(REFIID iid, LPVOID* object) override {
    *object = nullptr;
    if(!same(iid, IID_IDeckLinkVideoBuffer) || told("QueryInterface") != S_OK)
      return E_NOINTERFACE;
    *object = static_cast<IDeckLinkVideoBuffer*>(new Access{m_buffer});
    return S_OK;
  }
  long GetHeight() override { return card().config.height; }
  long GetRowBytes() override { return card().config.rowBytes; }
  BMDFrameFlags GetFlags() override { return 0; }
  HRESULT GetStreamTime(BMDTimeValue* time, BMDTimeValue* duration, BMDTimeScale scale) override {
    *time = 0;
    *duration = scale / 25;
    return S_OK;
  }

private:
  ~Frame() override { m_buffer->Release(); }
  IDeckLinkVideoBuffer* m_buffer;
};

class Input final : public Object<IDeckLinkInput> {
public:
  HRESULT EnableVideoInputWithAllocatorProvider(BMDDisplayMode, BMDPixelFormat format, BMDVideoInputFlags,
                                                IDeckLinkVideoBufferAllocatorProvider* provider) override {
    const CardConfig& config = card().config;
    if(m_provider || !provider) {
      broken("EnableVideoInputWithAllocatorProvider: enabled, or without a provider");
      return E_INVALIDARG;
    }
    const HRESULT result =
        provider->GetVideoBufferAllocator(config.rowBytes * config.height, config.rowBytes / 2, config.height,
                                          config.rowBytes, format, &m_allocator);
    if(result != S_OK)
      return result;
    provider->AddRef();
    m_provider = provider;
    return S_OK;
  }
  HRESULT DisableVideoInput() override {
    if(m_thread.joinable())
      broken("DisableVideoInput: the streams run");
    if(m_allocator)
      m_allocator->Release();
    if(m_provider)
      m_provider->Release();
    m_allocator = nullptr;
    m_provider = nullptr;
    return S_OK;
  }
  HRESULT SetCallback(IDeckLinkInputCallback* callback) override {
    if(callback)
      callback->AddRef();
    if(m_callback)
      m_callback->Release();
    m_callback = callback;
    return S_OK;
  }
  HRESULT StartStreams() override {
    if(!m_allocator || m_thread.joinable()) {
      broken("StartStreams: not enabled, or running");
      return E_FAIL;
    }
    m_running = true;
    m_thread = std::thread{[this] { run(); }};
    return S_OK;
  }
  HRESULT StopStreams() override {
    if(!m_thread.joinable())
      return E_FAIL;
    m_running = false;
    m_thread.join();
    return S_OK;
  }

private:
  ~Input() override {
    if(m_thread.joinable() || m_provider || m_callback)
      broken("Release: of an input that is enabled, runs, or has a callback");
  }

  void run() {
    std::deque<IDeckLinkVideoBuffer*> waiting;
    std::deque<Frame*> held;
    std::uint64_t silentFrame = card().config.silentFrame;
    for(std::uint64_t n = 0; m_running; ++n) {
      std::this_thread::sleep_for(card().config.period);
      IDeckLinkVideoBuffer* next{};
      while(waiting.size() <= card().config.prefetch && m_allocator->AllocateVideoBuffer(&next) == S_OK)
        waiting.push_back(next);
      if(waiting.empty()) {
        ++card().lost;
        continue;
      }
      fill(*waiting.front(), n, n < silentFrame);
      if(n >= silentFrame)
        silentFrame = UINT64_MAX;
      held.push_back(new Frame{waiting.front()});
      waiting.pop_front();
      m_callback->VideoInputFrameArrived(held.back(), nullptr);
      while(held.size() > card().config.held)
        letGo(held);
    }
    while(!held.empty())
      letGo(held);
    for(IDeckLinkVideoBuffer* buffer : waiting)
      buffer->Release();
  }

  static void letGo(std::deque<Frame*>& held) {
    held.front()->Release();
    held.pop_front();
  }

  static void fill(IDeckLinkVideoBuffer& buffer, std::uint64_t n, bool write) {
    const std::size_t bytes = std::size_t{card().config.rowBytes} * card().config.height;
    void* data{};
    uint64_t size{};
    if(buffer.StartAccess(bmdBufferAccessWrite) != S_OK || buffer.GetBytes(&data) != S_OK ||
       buffer.GetSize(&size) != S_OK || size < bytes)
      return broken("AllocateVideoBuffer: the buffer is too small, or cannot be accessed");
    if(write)
      std::memcpy(data, frameOf(n, bytes).data(), bytes);
    buffer.EndAccess(bmdBufferAccessWrite);
  }

  IDeckLinkVideoBufferAllocatorProvider* m_provider{};
  IDeckLinkVideoBufferAllocator* m_allocator{};
  IDeckLinkInputCallback* m_callback{};
  std::atomic<bool> m_running{};
  std::thread m_thread;
};

class Device final : public Object<IDeckLink> {
public:
  HRESULT QueryInterface(REFIID iid, LPVOID* object) override {
    *object = same(iid, IID_IDeckLinkInput) ? static_cast<IDeckLinkInput*>(new Input) : nullptr;
    return *object ? S_OK : E_NOINTERFACE;
  }
};

class Iterator final : public Object<IDeckLinkIterator> {
public:
  HRESULT Next(IDeckLink** device) override {
    *device = card().config.present ? new Device : nullptr;
    return *device ? S_OK : E_FAIL;
  }
};

} // namespace

void reset(const CardConfig& config) {
  card().config = config;
  card().violations.clear();
  card().lost = 0;
}
std::vector<std::string> violations() {
  const std::lock_guard lock{card().mutex};
  return card().violations;
}
std::size_t liveObjects() { return card().objects; }
std::uint64_t lostFrames() { return card().lost; }
IDeckLinkVideoInputFrame* makeFrame(IDeckLinkVideoBuffer* buffer) {
  return new Frame{buffer ? buffer : new OwnBuffer};
}
IDeckLinkInput* openInput() { return new Input; }

Bytes frameOf(std::uint64_t n, std::size_t bytes) {
  Bytes frame(bytes);
  for(std::size_t i = 0; i < bytes; ++i)
    frame[i] = static_cast<std::byte>(i * 7 + n * 13 + i / 256);
  std::memcpy(frame.data(), &n, sizeof n);
  return frame;
}

} // namespace rdmagpu::decklinktest

IDeckLinkIterator* CreateDeckLinkIteratorInstance() { return new rdmagpu::decklinktest::Iterator; }
