#include <base/guarded.hpp>
#include <base/library_error.hpp>
#include <core/buffer_state.hpp>
#include <core/dma_buf.hpp>
#include <os/fd.hpp>
#include <os/process.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <utility>

namespace rdmagpu {
namespace {

Result<void> checkSlot(const char* call, const core::BufferState* state, std::size_t slot) {
  if(!state)
    return libraryError(call, LibraryCode::BufferEmpty);
  return core::checkSlot(call, state->layout, slot);
}

Result<void> checkRange(const char* call, const core::BufferState* state, std::size_t slot,
                        std::size_t offset, std::size_t bytes) {
  if(!state)
    return libraryError(call, LibraryCode::BufferEmpty);
  return core::checkRange(call, state->layout, slot, offset, bytes);
}

} // namespace

RdmaGpuBuffer core::BufferAccess::make(std::unique_ptr<BufferState> state) noexcept {
  RdmaGpuBuffer buffer;
  buffer.m_state = std::move(state);
  return buffer;
}

RdmaGpuBuffer::RdmaGpuBuffer() noexcept = default;
RdmaGpuBuffer::~RdmaGpuBuffer() = default;
RdmaGpuBuffer::RdmaGpuBuffer(RdmaGpuBuffer&&) noexcept = default;
RdmaGpuBuffer& RdmaGpuBuffer::operator=(RdmaGpuBuffer&&) noexcept = default;

Result<RdmaGpuBuffer> RdmaGpuBuffer::make(const RdmaGpuBufferConfig& config) {
  constexpr const char* call = "RdmaGpuBuffer::make";
  return guarded(call, [&]() -> Result<RdmaGpuBuffer> {
    auto state = core::build(call, config);
    if(!state)
      return state.error();
    return core::BufferAccess::make(*std::move(state));
  });
}

bool RdmaGpuBuffer::create(const RdmaGpuBufferConfig& config) {
  destroy(); // first, so that replacing a buffer does not need room for both
  auto made = make(config);
  if(!made) {
    m_error = made.error();
    return false;
  }
  *this = *std::move(made);
  return true;
}

const Error& RdmaGpuBuffer::error() const noexcept { return m_error; }

Result<std::uint32_t> RdmaGpuBuffer::maxSlots(const RdmaGpuBufferConfig& config) {
  constexpr const char* call = "RdmaGpuBuffer::maxSlots";
  return guarded(call, [&] { return core::countSlotsThatFit(call, config); });
}

bool RdmaGpuBuffer::valid() const noexcept { return m_state != nullptr; }

RdmaGpuApi RdmaGpuBuffer::backend() const noexcept { return m_state ? m_state->facts.api : RdmaGpuApi::None; }

std::size_t RdmaGpuBuffer::slotCount() const noexcept { return m_state ? m_state->layout.slotCount : 0; }

RdmaGpuSlot RdmaGpuBuffer::slot(std::size_t i) const noexcept {
  if(i >= slotCount())
    return {};
  const backend::Region& region = *m_state->regionOf(i);
  return {region.address(m_state->offsetInRegion(i)), m_state->layout.stride, region.opaque()};
}

std::uint64_t RdmaGpuBuffer::slotOffset(std::size_t i) const noexcept {
  return i < slotCount() ? m_state->offsetInRegion(i) : 0;
}

Handoff RdmaGpuBuffer::handoff(std::size_t slot) const noexcept {
  if(slot >= slotCount())
    return {};
  return m_state->regionOf(slot)->handoff(m_state->offsetInRegion(slot));
}

std::optional<VulkanBuffer> RdmaGpuBuffer::vulkanBuffer(std::size_t slot) const noexcept {
  if(slot >= slotCount())
    return std::nullopt;
  auto found = m_state->regionOf(slot)->vulkanBuffer(m_state->offsetInRegion(slot));
  if(found)
    found->size = m_state->layout.stride;
  return found;
}

const BufferFacts& RdmaGpuBuffer::facts() const noexcept {
  static const BufferFacts nothing;
  return m_state ? m_state->facts : nothing;
}

Proof RdmaGpuBuffer::proof() const noexcept {
  if(!m_state)
    return {};
  return {
      .allocated = Answer::Yes, .capable = m_state->facts.rdmaCapable, .exported = m_state->exported.load()};
}

std::span<const Rejected> RdmaGpuBuffer::selection() const noexcept {
  return m_state ? std::span<const Rejected>{m_state->selection} : std::span<const Rejected>{};
}

Result<DmaBuf> RdmaGpuBuffer::exportRegion() const& {
  constexpr const char* call = "RdmaGpuBuffer::exportRegion";
  return guarded(call, [&]() -> Result<DmaBuf> {
    if(const auto checked = checkSlot(call, m_state.get(), 0); !checked)
      return checked.error();
    core::BufferState& state = *m_state;
    if(state.regions.size() > 1)
      return libraryError(call, LibraryCode::NotExportable, state.layout.totalBytes());
    if(state.process !=
       os::currentProcess()) { // in a forked child another thread's lock may be held for good
      auto exported = core::exportRange(call, *state.regions.front(), 0, state.layout.totalBytes());
      if(!exported)
        return exported.error();
      return core::DmaBufAccess::make(state.regions.front(), *std::move(exported), state.layout.totalBytes());
    }
    const std::lock_guard lock{state.exportMutex};
    if(!state.regionExport.fd) {
      auto exported = core::exportRange(call, *state.regions.front(), 0, state.layout.totalBytes());
      state.exported = exported ? Answer::Yes : Answer::No;
      if(!exported)
        return exported.error();
      state.regionExport = *std::move(exported);
    }
    auto copy = os::duplicate(state.regionExport.fd.get());
    if(!copy)
      return copy.error();
    return core::DmaBufAccess::make(state.regions.front(),
                                    {.fd = *std::move(copy),
                                     .offset = state.regionExport.offset,
                                     .close = state.regionExport.close,
                                     .pcieMapped = state.regionExport.pcieMapped,
                                     .pcieError = state.regionExport.pcieError},
                                    state.layout.totalBytes());
  });
}

Result<DmaBuf> RdmaGpuBuffer::exportSlot(std::size_t slot) const& {
  constexpr const char* call = "RdmaGpuBuffer::exportSlot";
  return guarded(call, [&]() -> Result<DmaBuf> {
    if(const auto checked = checkSlot(call, m_state.get(), slot); !checked)
      return checked.error();
    const core::RegionPtr& region = m_state->regionOf(slot);
    auto exported = core::exportRange(call, *region, m_state->offsetInRegion(slot), m_state->layout.stride);
    Answer untried = Answer::Unknown;
    if(exported)
      m_state->exported = Answer::Yes;
    else
      m_state->exported.compare_exchange_strong(untried, Answer::No);
    if(!exported) {
      Error error = exported.error();
      error.slot = static_cast<std::int32_t>(slot);
      return error;
    }
    return core::DmaBufAccess::make(region, *std::move(exported), m_state->layout.stride);
  });
}

Result<void> RdmaGpuBuffer::upload(std::size_t slot, std::span<const std::byte> from,
                                   std::size_t offset) const {
  constexpr const char* call = "RdmaGpuBuffer::upload";
  if(const auto checked = checkRange(call, m_state.get(), slot, offset, from.size()); !checked)
    return checked;
  return m_state->regionOf(slot)->upload(m_state->offsetInRegion(slot) + offset, from);
}

Result<void> RdmaGpuBuffer::download(std::size_t slot, std::span<std::byte> to, std::size_t offset) const {
  constexpr const char* call = "RdmaGpuBuffer::download";
  if(const auto checked = checkRange(call, m_state.get(), slot, offset, to.size()); !checked)
    return checked;
  return m_state->regionOf(slot)->download(m_state->offsetInRegion(slot) + offset, to);
}

Result<void> RdmaGpuBuffer::flushPeerWrites() const {
  if(!m_state)
    return libraryError("RdmaGpuBuffer::flushPeerWrites", LibraryCode::BufferEmpty);
  for(const core::RegionPtr& region : m_state->regions) {
    if(const auto flushed = region->flushPeerWrites(); !flushed)
      return flushed;
  }
  return {};
}

Result<std::uint64_t> RdmaGpuBuffer::checksum(std::size_t slot, std::size_t bytes, std::size_t offset) const {
  constexpr const char* call = "RdmaGpuBuffer::checksum";
  if(const auto checked = checkRange(call, m_state.get(), slot, offset, bytes); !checked)
    return checked.error();
  return m_state->regionOf(slot)->checksum(m_state->offsetInRegion(slot) + offset, bytes);
}

Result<void> RdmaGpuBuffer::poison(std::size_t slot, std::uint64_t seed) const {
  if(const auto checked = checkSlot("RdmaGpuBuffer::poison", m_state.get(), slot); !checked)
    return checked;
  return m_state->regionOf(slot)->poison(m_state->offsetInRegion(slot), m_state->layout.stride, seed);
}

Result<void> RdmaGpuBuffer::clear(std::size_t slot) const {
  if(const auto checked = checkSlot("RdmaGpuBuffer::clear", m_state.get(), slot); !checked)
    return checked;
  return m_state->regionOf(slot)->clear(m_state->offsetInRegion(slot), m_state->layout.stride);
}

Result<void> RdmaGpuBuffer::grantAccess(const GpuSelector& gpu) const {
  constexpr const char* call = "RdmaGpuBuffer::grantAccess";
  return guarded(call, [&]() -> Result<void> {
    if(!m_state)
      return libraryError(call, LibraryCode::BufferEmpty);
    for(const core::RegionPtr& region : m_state->regions) {
      if(const auto granted = region->grantAccess(gpu); !granted)
        return granted;
    }
    return {};
  });
}

std::shared_ptr<const void> RdmaGpuBuffer::keepAlive(std::size_t i) const noexcept {
  return i < slotCount() ? std::shared_ptr<const void>{m_state->regionOf(i)} : nullptr;
}

void RdmaGpuBuffer::destroy() noexcept {
  m_state.reset();
  m_error = {};
}

} // namespace rdmagpu
