#include <base/enum_value.hpp>
#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/peer_job.hpp>
#include <core/peer_thread.hpp>
#include <rdmagpu/software_peer.hpp>

#include <utility>

namespace rdmagpu {
namespace {

Error atSlot(Error error, std::size_t slot) noexcept {
  error.slot = static_cast<std::int32_t>(slot);
  return error;
}

Result<void> checkRange(const char* call, std::span<const PeerMemory> slots, std::uint32_t slot,
                        std::size_t offset, std::size_t bytes) noexcept {
  if(slot >= slots.size())
    return libraryError(call, LibraryCode::SlotOutOfRange, slot, slots.size());
  const std::size_t room = slots[slot].size;
  if(offset > room)
    return atSlot(libraryError(call, LibraryCode::RangeOutOfSlot, offset, room), slot);
  if(bytes > room - offset)
    return atSlot(libraryError(call, LibraryCode::RangeOutOfSlot, bytes, room - offset), slot);
  return {};
}

Result<void> finished(const Result<Copy>& copy) noexcept { return copy ? copy->wait() : copy.error(); }

} // namespace

struct SoftwarePeer::Impl {
  PeerJob job;
  PeerThread thread; ///< Last: it uses the job.

  /// Runs `work` on the thread, which then closes the peer's side of the ring.
  template <class Work>
  static Result<void> start(const char* call, Impl* self, SlotRing& ring, PeerThread::CloseSide close,
                            Work work) {
    if(!self)
      return libraryError(call, LibraryCode::SlotCountZero);
    const std::size_t slots = self->job.slots.size();
    if(ring.slotCount() == 0 || ring.slotCount() > slots)
      return libraryError(call, LibraryCode::RingLargerThanPeer, ring.slotCount(), slots);
    return guarded(
        call, [&] { return self->thread.start(call, ring, close, [self, work] { return work(*self); }); });
  }
};

SoftwarePeer::SoftwarePeer(std::unique_ptr<Impl> impl) noexcept : m_impl(std::move(impl)) {}
SoftwarePeer::~SoftwarePeer() = default;
SoftwarePeer::SoftwarePeer(SoftwarePeer&&) noexcept = default;
SoftwarePeer& SoftwarePeer::operator=(SoftwarePeer&&) noexcept = default;

Result<SoftwarePeer> SoftwarePeer::make(const SoftwarePeerConfig& config) {
  constexpr const char* call = "SoftwarePeer::make";
  return guarded(call, [&]() -> Result<SoftwarePeer> {
    if(config.slots.empty())
      return libraryError(call, LibraryCode::SlotCountZero);
    if(const auto known =
           checkValue("SoftwarePeerConfig::misbehaviour", config.misbehaviour, Misbehaviour::Migrate);
       !known)
      return known.error();
    if(config.rate.denominator == 0)
      return libraryError(call, LibraryCode::RateInvalid, config.rate.numerator);
    auto impl = std::make_unique<Impl>();
    PeerJob& job = impl->job;
    job.slots.reserve(config.slots.size());
    for(const PeerSlot& slot : config.slots) {
      const auto memory = memoryOf(call, slot, config.copyThrough);
      if(!memory)
        return atSlot(memory.error(), job.slots.size());
      job.slots.push_back(*memory);
    }
    job.queue = config.copyThrough;
    job.rate = config.rate;
    job.misbehaviour = config.misbehaviour;
    job.misbehaveAt = config.misbehaveAt;
    job.sliceBytes = config.sliceBytes;
    job.slotNow = config.slotNow;
    return SoftwarePeer{std::move(impl)};
  });
}

Result<void> SoftwarePeer::startCapture(SlotRing& ring, FrameSource& source) {
  return Impl::start("SoftwarePeer::startCapture", m_impl.get(), ring, &SlotRing::closeProducer,
                     [&](Impl& self) { return capture(self.job, ring, source, self.thread); });
}

Result<void> SoftwarePeer::startPlayout(SlotRing& ring, FrameSink& sink) {
  return Impl::start("SoftwarePeer::startPlayout", m_impl.get(), ring, &SlotRing::closeConsumer,
                     [&](Impl& self) { return playOut(self.job, ring, sink, self.thread); });
}

void SoftwarePeer::stop() noexcept {
  if(m_impl)
    m_impl->thread.stop();
}

void SoftwarePeer::wait() noexcept {
  if(m_impl)
    m_impl->thread.wait();
}

PeerCounters SoftwarePeer::counters() const noexcept {
  return m_impl ? m_impl->thread.counters() : PeerCounters{};
}

Result<void> SoftwarePeer::write(std::uint32_t slot, std::size_t offset,
                                 std::span<const std::byte> from) const {
  if(!m_impl)
    return libraryError("SoftwarePeer::write", LibraryCode::SlotCountZero);
  const PeerJob& job = m_impl->job;
  if(const auto good = checkRange("SoftwarePeer::write", job.slots, slot, offset, from.size()); !good)
    return good;
  return finished(job.write(slot, offset, from));
}

Result<void> SoftwarePeer::read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const {
  if(!m_impl)
    return libraryError("SoftwarePeer::read", LibraryCode::SlotCountZero);
  const PeerJob& job = m_impl->job;
  if(const auto good = checkRange("SoftwarePeer::read", job.slots, slot, offset, to.size()); !good)
    return good;
  return finished(job.read(slot, offset, to));
}

} // namespace rdmagpu
