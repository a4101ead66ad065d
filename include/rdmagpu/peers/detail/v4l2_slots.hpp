#pragma once
#include <rdmagpu/dma_buf.hpp>
#include <rdmagpu/error.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/peers/detail/v4l2_device.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rdmagpu::peers::detail {

/// The slots that a device may be told to use, and which of its buffers has which. Holds the memory of each
/// slot, and its dma-buf, until the device has let go of it. For one thread at a time.
class V4l2Slots {
public:
  explicit V4l2Slots(V4l2Device& device) noexcept : m_device(device) {}
  V4l2Slots(V4l2Slots&&) = delete;
  /// The device may still have them: closing it takes them back.
  ~V4l2Slots() {
    if(!m_places.empty())
      m_device.close();
  }

  /// Every slot that the StagedBuffer may ever hand to its peer, in the one way that is wanted, or in the
  /// first that the device takes them all. All or none.
  Result<void> attach(const StagedBuffer& staged, std::optional<V4l2Memory> wanted) {
    const RdmaGpuBuffer& application = staged.applicationBuffer();
    const RdmaGpuBuffer& peer = staged.peerBuffer();
    m_places.clear();
    m_reason = {};
    Result<void> attached;
    if(&peer == &application || staged.facts().path == SlotPath::Direct)
      attached = collect(application);
    if(attached && &peer != &application)
      attached = collect(peer);
    if(attached)
      attached = wanted ? attachBy(*wanted) : attachByAny();
    if(!attached)
      m_places.clear();
    return attached;
  }
  /// How they were attached.
  V4l2Memory memory() const noexcept { return m_memory; }
  /// Why not as dma-bufs; kind None when they were, or were not to be.
  const Error& reason() const noexcept { return m_reason; }
  /// So many slots may be queued at once.
  std::uint32_t depth() const noexcept { return static_cast<std::uint32_t>(m_slotOf.size()); }

  /// Of slot `index`, the memory that the StagedBuffer hands out now.
  Error queue(const StagedBuffer& staged, std::uint32_t slot, SlotFlow, std::size_t bytes) noexcept {
    const std::uint64_t address = addressBits(staged.handoff(slot));
    const auto place = std::find_if(m_places.begin(), m_places.end(),
                                    [&](const Place& p) { return p.slot == slot && p.address == address; });
    const auto buffer = freeBuffer(slot);
    if(place == m_places.end() || !buffer)
      return refusal("VIDIOC_QBUF", Refusal::UnknownSlot, slot, m_slotOf.size());
    Error error = m_device.queue(*buffer, place->where, bytes);
    if(error.kind == Errc::None)
      m_slotOf[*buffer] = slot;
    else
      error.slot = static_cast<std::int32_t>(slot);
    return error;
  }
  /// The slot that the device's buffer had, which is free then; empty if it had none.
  std::optional<std::uint32_t> cameBack(std::uint32_t buffer) noexcept {
    if(buffer >= m_slotOf.size())
      return {};
    const auto slot = m_slotOf[buffer];
    m_slotOf[buffer].reset();
    return slot;
  }

  /// Ends the stream and takes all buffers back, if need be by closing the device.
  Error release() noexcept {
    Error first = m_device.streamOff();
    if(first.kind == Errc::None) {
      const auto given = m_device.requestBuffers(m_memory, 0);
      first = given ? Error{} : given.error();
    }
    if(first.kind != Errc::None)
      m_device.close();
    m_places.clear();
    m_slotOf.clear();
    return first;
  }

private:
  struct Place {
    std::uint32_t slot{};
    std::uint64_t address{};
    V4l2Place where;
    const RdmaGpuBuffer* buffer{}; ///< Only while it is attached.
    std::shared_ptr<const void> memory;
    DmaBuf dmaBuf;
  };

  Result<void> collect(const RdmaGpuBuffer& buffer) {
    const std::size_t wanted = m_device.format().frameBytes;
    if(buffer.facts().frameBytes < wanted)
      return refusal("VIDIOC_REQBUFS", Refusal::SlotsTooSmall, wanted, buffer.facts().frameBytes);
    m_slotOf.assign(buffer.slotCount(), {});
    for(std::uint32_t i = 0; i < buffer.slotCount(); ++i) {
      const Handoff handoff = buffer.handoff(i);
      m_places.push_back({.slot = i,
                          .address = addressBits(handoff),
                          .where = {.pointer = cpuAddress(handoff), .bytes = buffer.slot(i).size},
                          .buffer = &buffer,
                          .memory = buffer.keepAlive(i),
                          .dmaBuf = {}});
    }
    return {};
  }

  Result<void> attachByAny() {
    const auto asDmaBufs = attachBy(V4l2Memory::DmaBuf);
    const auto hidden = [](const Place& p) { return p.where.pointer == nullptr; }; // from the CPU
    if(asDmaBufs || std::any_of(m_places.begin(), m_places.end(), hidden))
      return asDmaBufs;
    m_reason = asDmaBufs.error();
    return attachBy(V4l2Memory::UserPointer);
  }

  Result<void> attachBy(V4l2Memory memory) {
    m_memory = memory;
    for(Place& place : m_places) {
      if(const auto reached = memory == V4l2Memory::DmaBuf ? exportOne(place) : addressOne(place); !reached)
        return reached;
    }
    const auto slots = static_cast<std::uint32_t>(m_slotOf.size());
    const auto count = m_device.requestBuffers(memory, slots);
    if(!count)
      return count.error();
    Result<void> taken;
    if(*count > slots) // the driver needs as many to run
      taken = refusal("VIDIOC_REQBUFS", Refusal::TooFewSlots, *count, slots);
    else
      taken = probe(*count);
    if(!taken)
      (void)m_device.requestBuffers(memory, 0); // what came first is what matters
    return taken;
  }

  static Result<void> exportOne(Place& place) {
    auto exported = place.buffer->exportSlot(place.slot);
    if(!exported)
      return exported.error();
    if(exported->offset() != 0)
      return refusal("VIDIOC_QBUF (V4L2_MEMORY_DMABUF)", Refusal::DataOffset, exported->offset());
    place.where.dmaBuf = exported->fd();
    place.where.bytes = std::min(place.where.bytes, exported->size());
    place.dmaBuf = *std::move(exported);
    return {};
  }
  static Result<void> addressOne(const Place& place) noexcept {
    if(!place.where.pointer)
      return refusal("VIDIOC_QBUF (V4L2_MEMORY_USERPTR)", Refusal::CannotAddress);
    return {};
  }

  /// Has the driver map or pin every slot once, before a frame depends on it.
  Result<void> probe(std::uint32_t count) {
    for(std::size_t i = 0; i < m_places.size(); ++i) {
      const auto buffer = static_cast<std::uint32_t>(i % count);
      if(buffer == 0 && i != 0) { // a buffer is prepared once
        if(const auto again = m_device.requestBuffers(m_memory, count); !again)
          return again.error();
      }
      const auto prepared = m_device.prepare(buffer, m_places[i].where);
      if(!prepared) {
        Error error = prepared.error();
        error.slot = static_cast<std::int32_t>(m_places[i].slot);
        return error;
      }
      if(!*prepared)
        break;
    }
    // Prepared buffers are in the device's hands; from here on nothing is.
    const auto again = m_device.requestBuffers(m_memory, count);
    if(!again)
      return again.error();
    m_slotOf.assign(std::min<std::size_t>(*again, m_slotOf.size()), {});
    return {};
  }

  /// The one of that number, if it can be: drivers then map no slot anew.
  std::optional<std::uint32_t> freeBuffer(std::uint32_t slot) const noexcept {
    if(slot < m_slotOf.size() && !m_slotOf[slot])
      return slot;
    for(std::uint32_t buffer = 0; buffer < m_slotOf.size(); ++buffer) {
      if(!m_slotOf[buffer])
        return buffer;
    }
    return {};
  }

  V4l2Device& m_device;
  std::vector<Place> m_places;
  std::vector<std::optional<std::uint32_t>> m_slotOf; ///< By the device's buffer: what it has.
  V4l2Memory m_memory{};
  Error m_reason{};
};

} // namespace rdmagpu::peers::detail
