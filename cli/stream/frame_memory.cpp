#include "stream/frame_memory.hpp"

#include <utility>

namespace rdmagpu::cli {

Result<RdmaGpuBuffer> pinnedFrame(std::size_t frameBytes, const PciAddress& gpu, GpuPin pin) {
  RdmaGpuBufferConfig config;
  config.api = RdmaGpuApi::HostFallback;
  config.slotCount = 1;
  config.frameBytes = frameBytes;
  config.gpu.pci = gpu;
  // A descriptor for each frame would soon be too many.
  config.host = {.lock = PageLock::Off, .forbidMemfd = true, .gpuPin = pin};
  return RdmaGpuBuffer::make(config);
}

FrameMemory::FrameMemory(std::size_t bytes, const CopyingGpu& gpu) {
  if(!gpu) {
    m_data.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
    return;
  }
  auto pinned = pinnedFrame(bytes, *gpu, GpuPin::Try);
  if(!pinned)
    throw std::bad_alloc();
  m_pinned = *std::move(pinned);
}

} // namespace rdmagpu::cli
