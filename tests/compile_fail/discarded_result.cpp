// expect: nodiscard
#include <rdmagpu/rdma_gpu_buffer.hpp>

bool use(const rdmagpu::RdmaGpuBuffer& buffer) {
#ifdef VIOLATION
  buffer.flushPeerWrites();
#endif
  return buffer.flushPeerWrites().has_value();
}
