#include "stream/stream_slots.hpp"

#include "interrupt.hpp"

#include <utility>

namespace rdmagpu::cli {
namespace {

RdmaGpuBufferConfig configOf(const StreamOptions& options, std::size_t frameBytes) {
  BufferOptions slots = options.buffer;
  slots.bytes = frameBytes;
  RdmaGpuBufferConfig config = slots.config();
  // What a peer on the CPU can reach.
  config.accepts = {HandoffKind::HostPointer, HandoffKind::PciMapping};
  return config;
}

} // namespace

std::optional<StreamSlots> StreamSlots::make(const StreamOptions& options, std::size_t frameBytes,
                                             Failure& failure) {
  const RdmaGpuBufferConfig config = configOf(options, frameBytes);
  const DefaultSignals endAtOnce;
  StreamSlots slots;
  const auto refuse = [&](const Error& error) {
    failure = allocationFailure(error, config.api);
    return std::nullopt;
  };
  if(options.staged) {
    auto staged = StagedBuffer::make({.buffer = config,
                                      .flow = options.playout ? SlotFlow::Playout : SlotFlow::Capture,
                                      .policy = options.policy,
                                      .path = SlotPath::Staged});
    if(!staged)
      return refuse(staged.error());
    slots.m_staged = *std::move(staged);
  } else {
    auto buffer = RdmaGpuBuffer::make(config);
    if(!buffer)
      return refuse(buffer.error());
    slots.m_both = *std::move(buffer);
    auto ring = SlotRing::make({options.buffer.slots, options.policy});
    if(!ring)
      return refuse(ring.error());
    slots.m_ring = *std::move(ring);
  }
  noteUnusedGpu("stream", options.buffer.gpu, slots.application());
  return slots;
}

} // namespace rdmagpu::cli
