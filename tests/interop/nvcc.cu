// What a program with kernels of its own writes: compiled with nvcc as C++20, all public headers included.
#include <rdmagpu/backends.hpp>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/cuda_completions.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/interop/cuda.hpp>
#include <rdmagpu/log.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/verify.hpp>

namespace {

__global__ void invert(unsigned char* bytes, std::size_t count) {
  for(std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    bytes[i] = static_cast<unsigned char>(~bytes[i]);
}

} // namespace

/// Works on a slot. What it returns is for SlotRing::publish(): the slot changes hands when the kernel is done.
rdmagpu::Result<rdmagpu::RingCompletion> invertSlot(const rdmagpu::RdmaGpuBuffer& buffer, std::uint32_t slot,
                                                    rdmagpu::CudaCompletions& completions, cudaStream_t stream) {
  const auto address = rdmagpu::interop::devicePointer(buffer, slot);
  if(!address)
    return rdmagpu::RingCompletion{};
  invert<<<64, 256, 0, stream>>>(reinterpret_cast<unsigned char*>(*address), buffer.slot(slot).size);
  return completions.after(slot, rdmagpu::interop::cudaStream(stream));
}
