#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/staged_buffer.hpp>

// The SDK's own header, of version 14.3 or later.
#include <DeckLinkAPI.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace rdmagpu::peers {

namespace detail {

/// A COM object that has one interface, and lives as long as there are references.
template <class Interface>
class ComObject : public Interface {
public:
  ComObject(ComObject&&) = delete;
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** object) override {
    if(!object)
      return E_POINTER;
    constexpr unsigned char unknown[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0x46};
    const bool has = std::memcmp(&iid, &m_iid, sizeof m_iid) == 0 || std::memcmp(&iid, unknown, 16) == 0;
    *object = has ? static_cast<Interface*>(this) : nullptr;
    if(has)
      AddRef();
    return has ? S_OK : E_NOINTERFACE;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++m_references; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --m_references;
    if(left == 0)
      delete this;
    return left;
  }

protected:
  explicit ComObject(REFIID iid) noexcept { std::memcpy(&m_iid, &iid, sizeof m_iid); }
  virtual ~ComObject() = default; // NOLINT(modernize-use-override): on Windows the interfaces have none

private:
  std::remove_cv_t<std::remove_reference_t<REFIID>> m_iid;
  std::atomic<ULONG> m_references{1};
};

/// The card's side of the ring. The SDK calls from several threads.
class DeckLinkRing {
public:
  explicit DeckLinkRing(StagedBuffer& staged) : m_staged(&staged), m_lent(staged.ring().slotCount()) {}

  struct Lent {
    void* bytes{}; ///< Null: there is none to be had.
    std::uint64_t size{};
    std::uint32_t slot{};
    std::uint64_t ticket{}; ///< Of this lending: the SDK may let go of it after the slot was lent again.
    std::shared_ptr<const void> memory;
  };
  Lent lend() noexcept {
    const std::lock_guard lock{m_mutex};
    Lent lent;
    if(!m_staged || m_staged->ring().tryAcquire(lent.slot) != RingStatus::Ok)
      return {};
    const RdmaGpuBuffer& memory = peerSide();
    lent.bytes = cpuAddress(m_staged->handoff(lent.slot));
    lent.size = memory.slot(lent.slot).size;
    lent.memory = memory.keepAlive(lent.slot);
    lent.ticket = ++m_ticket;
    m_lent[lent.slot] = {lent.bytes, lent.ticket};
    return lent;
  }
  /// The SDK has let go of a buffer: its slot is free, unless it was published.
  void giveBack(std::uint32_t slot, std::uint64_t ticket) noexcept {
    const std::lock_guard lock{m_mutex};
    if(m_staged && m_lent[slot].ticket == ticket) {
      m_lent[slot] = {};
      m_staged->ring().abandon(slot);
    }
  }
  Result<void> publish(const void* bytes, std::int64_t timestamp, std::size_t size) noexcept {
    constexpr const char* call = "DeckLinkSlots::publish";
    const std::lock_guard lock{m_mutex};
    for(std::uint32_t slot = 0; m_staged && slot < m_lent.size(); ++slot) {
      if(!bytes || m_lent[slot].bytes != bytes)
        continue;
      if(const std::size_t room = peerSide().slot(slot).size; size > room)
        return refusal(call, Refusal::SlotsTooSmall, size, room);
      // What is not published goes back with its buffer; the card does not write it again.
      const RingStatus status = m_staged->ring().publish(slot, timestamp, size);
      if(status == RingStatus::Ok)
        m_lent[slot] = {};
      else if(status == RingStatus::Faulty)
        m_staged->ring().countDrop();
      return {};
    }
    return refusal(call, Refusal::UnknownSlot, 0, m_lent.size());
  }
  /// Slots that the SDK still has are not touched any more.
  void close() noexcept {
    const std::lock_guard lock{m_mutex};
    if(StagedBuffer* staged = std::exchange(m_staged, nullptr))
      staged->ring().closeProducer();
  }
  /// Whether the slots have room for what the SDK is to write.
  bool fits(std::uint64_t bytes) noexcept {
    const std::lock_guard lock{m_mutex};
    const std::uint64_t room = m_staged ? peerSide().slot(0).size : 0;
    if(bytes > room)
      m_error = refusal("GetVideoBufferAllocator", Refusal::SlotsTooSmall, bytes, room);
    return bytes <= room;
  }
  Error error() const noexcept {
    const std::lock_guard lock{m_mutex};
    return m_error;
  }

private:
  const RdmaGpuBuffer& peerSide() const noexcept {
    return m_staged->path() == SlotPath::Direct ? m_staged->applicationBuffer() : m_staged->peerBuffer();
  }

  mutable std::mutex m_mutex;
  StagedBuffer* m_staged; ///< Null once it is closed.
  struct Loan {
    const void* bytes{};
    std::uint64_t ticket{};
  };
  std::vector<Loan> m_lent; ///< By slot: what the SDK has, and has not published.
  std::uint64_t m_ticket{};
  Error m_error{};
};

/// A slot while the SDK has it. Holds its memory, whatever else is gone.
class DeckLinkBuffer final : public ComObject<IDeckLinkVideoBuffer> {
public:
  DeckLinkBuffer(std::shared_ptr<DeckLinkRing> ring, DeckLinkRing::Lent lent) noexcept
      : ComObject(IID_IDeckLinkVideoBuffer), m_ring(std::move(ring)), m_lent(std::move(lent)) {}
  HRESULT STDMETHODCALLTYPE GetBytes(void** bytes) override {
    *bytes = m_lent.bytes;
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE GetSize(std::uint64_t* size) override {
    *size = m_lent.size;
    return S_OK;
  }
  // Host memory: both sides may always look at it.
  HRESULT STDMETHODCALLTYPE StartAccess(BMDBufferAccessFlags) override { return S_OK; }
  HRESULT STDMETHODCALLTYPE EndAccess(BMDBufferAccessFlags) override { return S_OK; }

private:
  ~DeckLinkBuffer() override { m_ring->giveBack(m_lent.slot, m_lent.ticket); }

  std::shared_ptr<DeckLinkRing> m_ring;
  DeckLinkRing::Lent m_lent;
};

class DeckLinkAllocator final : public ComObject<IDeckLinkVideoBufferAllocator> {
public:
  explicit DeckLinkAllocator(std::shared_ptr<DeckLinkRing> ring) noexcept
      : ComObject(IID_IDeckLinkVideoBufferAllocator), m_ring(std::move(ring)) {}
  HRESULT STDMETHODCALLTYPE AllocateVideoBuffer(IDeckLinkVideoBuffer** buffer) override {
    auto lent = m_ring->lend();
    *buffer = nullptr;
    if(!lent.bytes)
      return E_OUTOFMEMORY;
    const auto slot = lent.slot;
    const auto ticket = lent.ticket;
    *buffer = new (std::nothrow) DeckLinkBuffer{m_ring, std::move(lent)};
    if(!*buffer)
      m_ring->giveBack(slot, ticket);
    return *buffer ? S_OK : E_OUTOFMEMORY;
  }

private:
  std::shared_ptr<DeckLinkRing> m_ring;
};

class DeckLinkProvider final : public ComObject<IDeckLinkVideoBufferAllocatorProvider> {
public:
  explicit DeckLinkProvider(std::shared_ptr<DeckLinkRing> ring) noexcept
      : ComObject(IID_IDeckLinkVideoBufferAllocatorProvider), m_ring(std::move(ring)) {}
  HRESULT STDMETHODCALLTYPE GetVideoBufferAllocator(std::uint32_t bufferBytes, std::uint32_t, std::uint32_t,
                                                    std::uint32_t, BMDPixelFormat,
                                                    IDeckLinkVideoBufferAllocator** allocator) override {
    *allocator = m_ring->fits(bufferBytes) ? new (std::nothrow) DeckLinkAllocator{m_ring} : nullptr;
    return *allocator ? S_OK : E_OUTOFMEMORY;
  }

private:
  std::shared_ptr<DeckLinkRing> m_ring;
};

} // namespace detail

/// The host slots of a StagedBuffer as the video buffers into which a DeckLink input receives: the provider
/// for EnableVideoInputWithAllocatorProvider, and the producer's side of the ring. Header only, for code that
/// has the SDK. Written after its published names, and never run with a card. The SDK has no way into a GPU's
/// memory: for frames on a GPU the path is a staged one.
///
/// The SDK takes a free slot whenever it wants a buffer, and loses the frame where there is none; it keeps
/// several. One that comes back without publish() is free again.
///
/// The StagedBuffer is borrowed until close(), which the streams must be stopped for. A buffer that the SDK
/// still holds then keeps its memory. Move-only.
class DeckLinkSlots {
public:
  /// What its slots must be, for StagedBufferConfig::buffer.
  static Handoffs accepts() noexcept { return {HandoffKind::HostPointer}; }

  static Result<DeckLinkSlots> make(StagedBuffer& staged) {
    constexpr const char* call = "DeckLinkSlots::make";
    if(kind(staged.handoff(0)) != HandoffKind::HostPointer)
      return refusal(call, Refusal::CannotAddress);
    try {
      auto ring = std::make_shared<detail::DeckLinkRing>(staged);
      Provider provider{new detail::DeckLinkProvider{ring}};
      return DeckLinkSlots{std::move(ring), std::move(provider)};
    } catch(const std::bad_alloc&) {
      return refusal(call, Refusal::OutOfMemory);
    }
  }
  ~DeckLinkSlots() { close(); }
  DeckLinkSlots(DeckLinkSlots&&) noexcept = default;
  DeckLinkSlots& operator=(DeckLinkSlots&& other) noexcept {
    close();
    m_ring = std::move(other.m_ring);
    m_provider = std::move(other.m_provider);
    return *this;
  }

  /// Borrowed; the SDK takes references of its own.
  IDeckLinkVideoBufferAllocatorProvider* provider() const noexcept { return m_provider.get(); }

  /// From VideoInputFrameArrived(), the last use of the frame there: from here on it is the consumer's.
  /// A frame that is not in one of these slots is refused with PeerUnknownSlot.
  Result<void> publish(IDeckLinkVideoFrame& frame, std::int64_t timestamp) noexcept {
    void* object{};
    HRESULT result = frame.QueryInterface(IID_IDeckLinkVideoBuffer, &object);
    if(result != S_OK)
      return peerError("QueryInterface (IDeckLinkVideoBuffer)", result);
    auto* buffer = static_cast<IDeckLinkVideoBuffer*>(object);
    void* bytes{};
    const char* call = "IDeckLinkVideoBuffer::StartAccess";
    result = buffer->StartAccess(bmdBufferAccessRead);
    if(result == S_OK) {
      call = "IDeckLinkVideoBuffer::GetBytes";
      result = buffer->GetBytes(&bytes);
      buffer->EndAccess(bmdBufferAccessRead);
    }
    buffer->Release();
    if(result != S_OK)
      return peerError(call, result);
    const auto size =
        static_cast<std::size_t>(frame.GetRowBytes()) * static_cast<std::size_t>(frame.GetHeight());
    return m_ring->publish(bytes, timestamp, size);
  }

  /// Why the SDK was last refused an allocator, such as slots that are too small for the input's format.
  Error error() const noexcept { return m_ring ? m_ring->error() : Error{}; }

  /// After StopStreams() and DisableVideoInput(). Closes the producer's side of the ring. Idempotent.
  void close() noexcept {
    if(m_ring)
      m_ring->close();
  }

private:
  struct ReleaseIt {
    void operator()(IDeckLinkVideoBufferAllocatorProvider* provider) const noexcept { provider->Release(); }
  };
  using Provider = std::unique_ptr<IDeckLinkVideoBufferAllocatorProvider, ReleaseIt>;

  DeckLinkSlots(std::shared_ptr<detail::DeckLinkRing> ring, Provider provider) noexcept
      : m_ring(std::move(ring)), m_provider(std::move(provider)) {}

  std::shared_ptr<detail::DeckLinkRing> m_ring;
  Provider m_provider;
};

} // namespace rdmagpu::peers
