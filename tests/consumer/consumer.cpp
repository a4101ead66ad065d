// A capture module written against ossia score's names only, in score's calling pattern.
#include <rdmagpu/compat/score_interop.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace interop = score::gfx::interop;

namespace {

constexpr std::uint32_t slotCount = 4;
constexpr std::size_t frameBytes = std::size_t{1920} * 1080 * 2;

class Capture {
public:
  bool start(interop::RdmaGpuApi api) {
    if(!m_buffer.create({
           .api = api,
           .slotCount = slotCount,
           .frameBytes = frameBytes,
           .cuda = nullptr,
           .cudaDevice = 0,
           .vulkanCtx = nullptr,
           .d3d12Device = nullptr,
       }))
      return false;
    for(std::uint32_t i = 0; i < m_buffer.slotCount(); ++i) {
      const interop::RdmaGpuSlot slot = m_buffer.slot(i);
      if(!slot.gpuVA || slot.size < frameBytes || slot.opaque)
        return false;
      std::memset(slot.gpuVA, static_cast<int>(i), frameBytes);
    }
    return true;
  }

  void stop() { m_buffer.destroy(); }
  bool running() const { return m_buffer.valid(); }
  interop::RdmaGpuBuffer take() { return std::move(m_buffer); }
  const interop::RdmaGpuBuffer& buffer() const { return m_buffer; }

private:
  interop::RdmaGpuBuffer m_buffer;
};

int failures = 0;

void expect(bool holds, const char* what) {
  if(holds)
    return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  ++failures;
}

bool holdsPattern(const interop::RdmaGpuBuffer& buffer) {
  for(std::uint32_t i = 0; i < slotCount; ++i) {
    const auto* bytes = static_cast<const unsigned char*>(buffer.slot(i).gpuVA);
    if(bytes[0] != i || bytes[frameBytes - 1] != i)
      return false;
  }
  return true;
}

} // namespace

int main() {
  Capture capture;
  expect(!capture.running(), "nothing runs before start");
  expect(capture.start(interop::RdmaGpuApi::HostFallback), "host slots can be had and written");
  expect(capture.buffer().backend() == interop::RdmaGpuApi::HostFallback, "backend() is the one asked for");
  expect(capture.buffer().slotCount() == slotCount, "slotCount() is the number asked for");
  expect(!capture.buffer().slot(slotCount).gpuVA, "a slot out of range is empty");

  interop::RdmaGpuBuffer moved = capture.take();
  expect(!capture.running(), "a buffer that was moved from is not valid");
  expect(moved.valid() && holdsPattern(moved), "the slots move with their contents");

  moved.destroy();
  moved.destroy();
  expect(!moved.valid() && moved.slotCount() == 0, "destroy can be called twice");
  capture.stop();

  expect(!capture.start(interop::RdmaGpuApi::None), "no backend, no slots");
  expect(capture.start(interop::RdmaGpuApi::HostFallback), "the same object starts again after a failure");
  return failures == 0 ? 0 : 1;
}
