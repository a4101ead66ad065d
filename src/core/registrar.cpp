#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <base/log.hpp>
#include <core/verify.hpp>
#include <os/process.hpp>
#include <rdmagpu/dma_buf.hpp>
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace rdmagpu::peers {
namespace {

constexpr const char* makeCall = "PeerRegistration::make";

/// What one call of the SDK pins, and what it needs alive.
struct Pin {
  std::shared_ptr<const void> memory;
  DmaBuf dmaBuf;
  PinView view;
  std::uint64_t key{};
  std::uint32_t firstPinned{}; ///< Index of its first slot among those that are pinned.
};

Error atSlot(Error error, std::int64_t slot) noexcept {
  if(error.slot < 0)
    error.slot = static_cast<std::int32_t>(slot);
  return error;
}

/// A callback of the user's, which must not get its exceptions past us.
template <class Body>
auto contained(const char* call, Body body) noexcept -> decltype(body()) {
  try {
    auto result = body();
    if(!result && result.error().kind == Errc::None)
      return peerError(call, 0);
    return result;
  } catch(const std::bad_alloc&) {
    return libraryError(call, LibraryCode::OutOfMemory);
  } catch(...) {
    return libraryError(call, LibraryCode::RegistrarThrew);
  }
}

bool sameAddress(const Handoff& a, const Handoff& b) noexcept {
  return a.index() == b.index() && addressBits(a) != 0 && addressBits(a) == addressBits(b);
}

Error checkPin(const PinView& view, const PinLimits& limits) noexcept {
  const std::uint64_t start = view.dmaBuf >= 0 ? view.dmaBufOffset : addressBits(view.handoff);
  if(limits.alignment && start % limits.alignment != 0)
    return libraryError(makeCall, LibraryCode::PeerAddressAlignment, start, limits.alignment);
  if(limits.alignment && view.bytes % limits.alignment != 0)
    return libraryError(makeCall, LibraryCode::PeerSizeAlignment, view.bytes, limits.alignment);
  if(limits.maxBytes && view.bytes > limits.maxBytes)
    return libraryError(makeCall, LibraryCode::PeerPinTooLarge, view.bytes, limits.maxBytes);
  return {};
}

/// The bytes from slot `first` on to the end of slot `last`, which lie in one region.
Result<Pin> planPin(const RdmaGpuBuffer& buffer, const PinLimits& limits, std::size_t first,
                    std::size_t last) {
  Pin pin;
  pin.memory = buffer.keepAlive(first);
  pin.view.slot = static_cast<std::uint32_t>(first);
  pin.view.slotCount = static_cast<std::uint32_t>(last - first + 1);
  pin.view.handoff = buffer.handoff(first);
  pin.view.bytes = buffer.slotOffset(last) + buffer.slot(last).size - buffer.slotOffset(first);
  const HandoffKind memory = kind(pin.view.handoff);
  if(memory != HandoffKind::DmaBuf && limits.accepts.contains(memory)) {
    if(limits.memAllocOnly && memory == HandoffKind::CudaPointer &&
       buffer.facts().cudaMemory != CudaMemory::MemAlloc)
      return libraryError(makeCall, LibraryCode::PeerNeedsMemAlloc);
  } else if(limits.accepts.contains(HandoffKind::DmaBuf)) {
    auto exported = first == last ? buffer.exportSlot(first) : buffer.exportRegion();
    if(!exported)
      return exported.error();
    pin.dmaBuf = *std::move(exported);
    pin.view.handoff = DmaBufOnly{};
    pin.view.dmaBuf = pin.dmaBuf.fd();
    pin.view.dmaBufOffset = pin.dmaBuf.offset() + (first == last ? 0 : buffer.slotOffset(first));
  } else {
    return libraryError(makeCall, LibraryCode::PeerCannotAddress);
  }
  if(const Error error = checkPin(pin.view, limits); error.kind != Errc::None)
    return error;
  return pin;
}

/// A registrar's write and read as verify() wants them.
class RegistrarPeer final : public Peer {
public:
  RegistrarPeer(const Registrar& registrar, std::span<const PinnedSlot> slots) noexcept
      : m_registrar(registrar), m_slots(slots) {}

  const char* name() const noexcept override { return m_registrar.name; }
  Agent agent() const noexcept override { return m_registrar.agent; }
  Result<void> write(std::uint32_t slot, std::span<const std::byte> bytes) override {
    return move("Registrar::write", m_registrar.write, slot, bytes);
  }
  Result<void> read(std::uint32_t slot, std::span<std::byte> bytes) override {
    return move("Registrar::read", m_registrar.read, slot, bytes);
  }

private:
  template <class Move, class Bytes>
  Result<void> move(const char* call, const Move& mover, std::uint32_t slot, Bytes bytes) const noexcept {
    if(!mover)
      return libraryError(call, LibraryCode::PeerTransferMissing);
    return contained(call, [&] { return mover(m_slots[slot], bytes); });
  }

  const Registrar& m_registrar;
  std::span<const PinnedSlot> m_slots;
};

/// Why a report is not the proof that was asked for; kind None when it is.
Error disproof(const VerifyReport& report) noexcept {
  if(!report.failures.empty()) {
    const VerifyFailure& failure = report.failures.front();
    const Error error = failure.error.kind != Errc::None
                            ? failure.error
                            : libraryError("verify", LibraryCode::DataMismatch, failure.wrongBytes);
    return atSlot(error, failure.slot);
  }
  if(report.write == Answer::Yes || report.read == Answer::Yes)
    return {};
  return report.writeError;
}

/// Of two buffers: nothing is proven of both that is not of each.
Answer worse(Answer a, Answer b) noexcept {
  if(a == Answer::No || b == Answer::No)
    return Answer::No;
  return a == Answer::Yes && b == Answer::Yes ? Answer::Yes : Answer::Unknown;
}

} // namespace

struct PeerRegistration::Impl {
  Impl(Registrar r, std::uint64_t p) : registrar(std::move(r)), process(p) {}

  Registrar registrar;
  std::uint64_t process;
  std::vector<Pin> pins;         ///< The first `pinned` of them are.
  std::vector<PinnedSlot> slots; ///< Empty ones: unpinned, while others could not be.
  std::size_t pinned{};
  struct Proven {
    std::size_t first{}; ///< Index of the buffer's first slot.
    std::size_t count{};
    Proof proof;
  };
  std::vector<Proven> proven; ///< One for each buffer.

  Result<void> plan(const RdmaGpuBuffer& buffer);
  Result<void> pinAll() noexcept;
  Result<void> unpinAll() noexcept;
  Result<void> verifyAll(std::span<const RdmaGpuBuffer* const> buffers);
  Proven* find(const RdmaGpuBuffer& buffer) noexcept;
  Result<VerifyReport> prove(const RdmaGpuBuffer& buffer, Proven& known, const VerifyOptions& options);
  static Result<PeerRegistration> make(std::span<const RdmaGpuBuffer* const> buffers, Registrar registrar);
};

Result<void> PeerRegistration::Impl::plan(const RdmaGpuBuffer& buffer) {
  if(!buffer.valid())
    return libraryError(makeCall, LibraryCode::BufferEmpty);
  const bool whole = registrar.unit == PinUnit::Region;
  if(whole && buffer.facts().regionCount != 1)
    return libraryError(makeCall, LibraryCode::PeerRegionsApart, buffer.facts().regionCount, 1);
  const std::size_t count = buffer.slotCount();
  proven.push_back({slots.size(), count, buffer.proof()});
  for(std::size_t first = 0; first < count; first += whole ? count : 1) {
    const std::size_t last = whole ? count - 1 : first;
    auto pin = planPin(buffer, registrar.limits, first, last);
    if(!pin)
      return whole ? pin.error() : atSlot(pin.error(), static_cast<std::int64_t>(first));
    pin->firstPinned = static_cast<std::uint32_t>(slots.size());
    for(std::size_t i = first; i <= last; ++i) {
      slots.push_back({.handoff = buffer.handoff(i),
                       .bytes = buffer.slot(i).size,
                       .slot = static_cast<std::uint32_t>(i),
                       .offset = buffer.slotOffset(i) - buffer.slotOffset(first)});
    }
    pins.push_back(*std::move(pin));
  }
  return {};
}

Result<void> PeerRegistration::Impl::pinAll() noexcept {
  for(Pin& pin : pins) {
    const auto key = contained("Registrar::pin", [&] { return registrar.pin(pin.view); });
    if(!key) {
      Error error = key.error();
      if(error.bytes == 0)
        error.bytes = pin.view.bytes;
      return registrar.unit == PinUnit::Slot ? atSlot(error, pin.view.slot) : error;
    }
    pin.key = *key;
    ++pinned;
    for(std::uint32_t i = 0; i < pin.view.slotCount; ++i)
      slots[pin.firstPinned + i].key = pin.key;
  }
  return {};
}

Result<void> PeerRegistration::Impl::unpinAll() noexcept {
  pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(pinned), pins.end());
  if(pins.empty())
    return {};
  if(registrar.quiesce) {
    if(const auto quiet = contained("Registrar::quiesce", [&] { return registrar.quiesce(); }); !quiet)
      return quiet;
  }
  Result<void> first;
  for(std::size_t i = pins.size(); i-- > 0;) {
    Pin& pin = pins[i];
    const auto done = contained("Registrar::unpin", [&] { return registrar.unpin(pin.view, pin.key); });
    if(done) {
      std::fill_n(slots.begin() + pin.firstPinned, pin.view.slotCount, PinnedSlot{});
      pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(i));
      --pinned;
    } else if(first) {
      first = registrar.unit == PinUnit::Slot ? atSlot(done.error(), pin.view.slot) : done.error();
    }
  }
  return first;
}

/// Null unless its slots are pinned here, all of them.
PeerRegistration::Impl::Proven* PeerRegistration::Impl::find(const RdmaGpuBuffer& buffer) noexcept {
  for(Proven& known : proven) {
    const std::span own = std::span{slots}.subspan(known.first, known.count);
    const auto pin =
        std::find_if(pins.begin(), pins.end(), [&](const Pin& p) { return p.firstPinned == known.first; });
    if(pin != pins.end() && buffer.keepAlive(0) == pin->memory &&
       std::all_of(own.begin(), own.end(), [](const PinnedSlot& slot) { return slot.bytes != 0; }))
      return &known;
  }
  return nullptr;
}

Result<VerifyReport> PeerRegistration::Impl::prove(const RdmaGpuBuffer& buffer, Proven& known,
                                                   const VerifyOptions& options) {
  RegistrarPeer peer{registrar, std::span{slots}.subspan(known.first, known.count)};
  if(!registrar.write && !registrar.read) {
    VerifyReport report = core::untriedReport(buffer, registrar.name);
    report.proof.registered = Answer::Yes;
    report.writeError = peer.write(0, {}).error();
    report.readError = peer.read(0, {}).error();
    return report;
  }
  auto report = rdmagpu::verify(buffer, peer, options);
  if(report) {
    report->proof.registered = Answer::Yes;
    known.proof = report->proof;
  }
  return report;
}

Result<void> PeerRegistration::Impl::verifyAll(std::span<const RdmaGpuBuffer* const> buffers) {
  for(std::size_t i = 0; i < buffers.size(); ++i) {
    const auto report = prove(*buffers[i], proven[i], *registrar.verify);
    if(!report)
      return report.error();
    if(const Error error = disproof(*report); error.kind != Errc::None)
      return error;
  }
  return {};
}

Result<PeerRegistration> PeerRegistration::Impl::make(std::span<const RdmaGpuBuffer* const> buffers,
                                                      Registrar registrar) {
  return guarded(makeCall, [&]() -> Result<PeerRegistration> {
    if(!registrar.pin || !registrar.unpin)
      return libraryError(makeCall, LibraryCode::RegistrarIncomplete);
    const auto own = os::identifyProcess();
    if(!own)
      return own.error();
    auto impl = std::make_unique<Impl>(std::move(registrar), *own);
    for(const RdmaGpuBuffer* buffer : buffers) {
      if(const auto planned = impl->plan(*buffer); !planned)
        return planned.error();
    }
    std::uint64_t total = 0;
    for(const Pin& pin : impl->pins)
      total += pin.view.bytes;
    if(const std::uint64_t most = impl->registrar.limits.maxTotalBytes; most && total > most)
      return libraryError(makeCall, LibraryCode::PeerPinsTooLarge, total, most);
    PeerRegistration made{std::move(impl)}; // unpins what was pinned when a step fails
    if(const auto done = made.m_impl->pinAll(); !done)
      return done.error();
    if(made.m_impl->registrar.verify) {
      if(const auto done = made.m_impl->verifyAll(buffers); !done)
        return done.error();
    }
    return made;
  });
}

PeerRegistration::PeerRegistration() noexcept = default;
PeerRegistration::PeerRegistration(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
PeerRegistration::PeerRegistration(PeerRegistration&&) noexcept = default;

PeerRegistration& PeerRegistration::operator=(PeerRegistration&& other) noexcept {
  if(this != &other) {
    const PeerRegistration gone{std::move(*this)};
    m_impl = std::move(other.m_impl);
  }
  return *this;
}

PeerRegistration::~PeerRegistration() {
  const auto released = release();
  if(released)
    return;
  reportFailure(released.error());
  (void)m_impl.release(); // the peer may still use the memory: kept for good
}

Result<PeerRegistration> PeerRegistration::make(const RdmaGpuBuffer& buffer, Registrar registrar) {
  const RdmaGpuBuffer* const one[] = {&buffer};
  return Impl::make(one, std::move(registrar));
}

Result<PeerRegistration> PeerRegistration::make(const StagedBuffer& staged, Registrar registrar) {
  const RdmaGpuBuffer* const both[] = {&staged.applicationBuffer(), &staged.peerBuffer()};
  const std::span buffers{both};
  if(both[0] == both[1])
    return Impl::make(buffers.first(1), std::move(registrar));
  const bool inReserve = staged.facts().path == SlotPath::Direct;
  return Impl::make(inReserve ? buffers : buffers.last(1), std::move(registrar));
}

bool PeerRegistration::valid() const noexcept { return m_impl && m_impl->pinned != 0; }

std::size_t PeerRegistration::slotCount() const noexcept { return valid() ? m_impl->slots.size() : 0; }

PinnedSlot PeerRegistration::slot(std::size_t i) const noexcept {
  return i < slotCount() ? m_impl->slots[i] : PinnedSlot{};
}

PinnedSlot PeerRegistration::slot(const Handoff& handoff) const noexcept {
  for(std::size_t i = 0; i < slotCount(); ++i) {
    if(sameAddress(m_impl->slots[i].handoff, handoff))
      return m_impl->slots[i];
  }
  return {};
}

Result<VerifyReport> PeerRegistration::verify(const RdmaGpuBuffer& buffer, const VerifyOptions& options) {
  constexpr const char* call = "PeerRegistration::verify";
  return guarded(call, [&]() -> Result<VerifyReport> {
    Impl::Proven* proven = m_impl ? m_impl->find(buffer) : nullptr;
    if(!proven)
      return libraryError(call, LibraryCode::PeerNotPinned);
    return m_impl->prove(buffer, *proven, options);
  });
}

Proof PeerRegistration::proof() const noexcept {
  if(!valid())
    return {};
  Proof proof = m_impl->proven.front().proof;
  for(const Impl::Proven& other : m_impl->proven) {
    proof.written = worse(proof.written, other.proof.written);
    proof.read = worse(proof.read, other.proof.read);
  }
  proof.registered = Answer::Yes;
  return proof;
}

Result<void> PeerRegistration::release() noexcept {
  if(!m_impl)
    return {};
  if(os::currentProcess() == m_impl->process) {
    if(const auto unpinned = m_impl->unpinAll(); !unpinned)
      return unpinned;
  }
  m_impl.reset();
  return {};
}

} // namespace rdmagpu::peers
