#include <base/log.hpp>
#include <core/copy_queue_access.hpp>
#include <core/playout_memory.hpp>

#include <utility>

namespace rdmagpu {
namespace {

/// Two that are being copied, so that the engine never rests, one that waits behind them, and one at the
/// sink.
constexpr std::uint32_t framesUnderWay = 4;

} // namespace

Result<PlayoutMemory> PlayoutMemory::make(const PeerJob& job, bool several) {
  const std::size_t bytes = job.largestSlot();
  const auto gpu = job.queue ? core::CopyQueueAccess::gpu(*job.queue) : std::nullopt;
  if(!gpu)
    return PlayoutMemory{Plain(bytes), 1};
  const std::uint32_t frames = several ? framesUnderWay : 1;
  RdmaGpuBufferConfig config{.api = RdmaGpuApi::HostFallback,
                             .slotCount = frames,
                             .frameBytes = bytes,
                             .host = {.lock = PageLock::Off, .forbidMemfd = true, .gpuPin = GpuPin::Try}};
  config.gpu.pci = gpu;
  auto buffer = RdmaGpuBuffer::make(config);
  if(!buffer)
    return buffer.error();
  if(const Error& error = buffer->facts().pinError; error.kind != Errc::None)
    log(LogLevel::Warning, "a software peer reads slots into memory that is not pinned, which is slow",
        error);
  return PlayoutMemory{*std::move(buffer), frames};
}

std::span<std::byte> PlayoutMemory::frame(std::uint64_t n) noexcept {
  if(auto* plain = std::get_if<Plain>(&m_memory))
    return *plain;
  const RdmaGpuSlot slot = std::get_if<RdmaGpuBuffer>(&m_memory)->slot(n % m_frames);
  return {static_cast<std::byte*>(slot.gpuVA), slot.size};
}

} // namespace rdmagpu
