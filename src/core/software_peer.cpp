#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/peer_job.hpp>
#include <core/peer_thread.hpp>
#include <rdmagpu/software_peer.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rdmagpu {
namespace {

Error atSlot(Error error, std::size_t slot) noexcept {
  error.slot = static_cast<std::int32_t>(slot);
  return error;
}

Result<std::span<std::byte>> addressOf(const char* call, const PeerSlot& slot) noexcept {
  const HandoffKind handoff = kind(slot.handoff);
  if(handoff != HandoffKind::HostPointer && handoff != HandoffKind::PciMapping)
    return libraryError(call, LibraryCode::PeerCannotAddress, slot.size);
  auto* data = static_cast<std::byte*>(cpuAddress(slot.handoff));
  if(!data || slot.size == 0)
    return libraryError(call, LibraryCode::PeerSlotEmpty, slot.size);
  return std::span{data, slot.size};
}

Result<void> checkRing(const char* call, const PeerJob& job, const SlotRing& ring) noexcept {
  if(ring.slotCount() == 0 || ring.slotCount() > job.slots.size())
    return libraryError(call, LibraryCode::RingLargerThanPeer, ring.slotCount(), job.slots.size());
  return {};
}

Result<std::span<std::byte>> range(const char* call, std::span<const std::span<std::byte>> slots,
                                   std::uint32_t slot, std::size_t offset, std::size_t bytes) noexcept {
  if(slot >= slots.size())
    return libraryError(call, LibraryCode::SlotOutOfRange, slot, slots.size());
  const std::size_t room = slots[slot].size();
  if(offset > room)
    return atSlot(libraryError(call, LibraryCode::RangeOutOfSlot, offset, room), slot);
  if(bytes > room - offset)
    return atSlot(libraryError(call, LibraryCode::RangeOutOfSlot, bytes, room - offset), slot);
  return slots[slot].subspan(offset, bytes);
}

} // namespace

struct SoftwarePeer::Impl {
  PeerJob job;
  std::vector<std::byte> memory; ///< The card's own, for playout.
  PeerThread thread;             ///< Last: it uses the others.
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
    if(config.rate.denominator == 0)
      return libraryError(call, LibraryCode::RateInvalid, config.rate.numerator);
    auto impl = std::make_unique<Impl>();
    PeerJob& job = impl->job;
    job.slots.reserve(config.slots.size());
    for(const PeerSlot& slot : config.slots) {
      const auto address = addressOf(call, slot);
      if(!address)
        return atSlot(address.error(), job.slots.size());
      job.slots.push_back(*address);
    }
    job.rate = config.rate;
    job.misbehaviour = config.misbehaviour;
    job.misbehaveAt = config.misbehaveAt;
    job.sliceBytes = config.sliceBytes;
    return SoftwarePeer{std::move(impl)};
  });
}

Result<void> SoftwarePeer::startCapture(SlotRing& ring, FrameSource& source) {
  constexpr const char* call = "SoftwarePeer::startCapture";
  if(!m_impl)
    return libraryError(call, LibraryCode::SlotCountZero);
  return guarded(call, [&]() -> Result<void> {
    Impl& self = *m_impl;
    if(const auto checked = checkRing(call, self.job, ring); !checked)
      return checked;
    return self.thread.start(call, ring, &SlotRing::closeProducer,
                             [&] { return capture(self.job, ring, source, self.thread); });
  });
}

Result<void> SoftwarePeer::startPlayout(SlotRing& ring, FrameSink& sink) {
  constexpr const char* call = "SoftwarePeer::startPlayout";
  if(!m_impl)
    return libraryError(call, LibraryCode::SlotCountZero);
  return guarded(call, [&]() -> Result<void> {
    Impl& self = *m_impl;
    if(const auto checked = checkRing(call, self.job, ring); !checked)
      return checked;
    if(self.memory.empty()) {
      const auto largest = std::max_element(self.job.slots.begin(), self.job.slots.end(),
                                            [](const auto& a, const auto& b) { return a.size() < b.size(); });
      self.memory.resize(largest->size());
    }
    return self.thread.start(call, ring, &SlotRing::closeConsumer,
                             [&] { return playOut(self.job, ring, sink, self.memory, self.thread); });
  });
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
  const auto to = range("SoftwarePeer::write", m_impl->job.slots, slot, offset, from.size());
  if(!to)
    return to.error();
  if(!from.empty())
    std::memcpy(to->data(), from.data(), from.size());
  return {};
}

Result<void> SoftwarePeer::read(std::uint32_t slot, std::size_t offset, std::span<std::byte> to) const {
  if(!m_impl)
    return libraryError("SoftwarePeer::read", LibraryCode::SlotCountZero);
  const auto from = range("SoftwarePeer::read", m_impl->job.slots, slot, offset, to.size());
  if(!from)
    return from.error();
  if(!to.empty())
    std::memcpy(to.data(), from->data(), to.size());
  return {};
}

} // namespace rdmagpu
