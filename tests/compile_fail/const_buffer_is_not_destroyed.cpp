// expect: discards qualifiers|not marked const
#include <rdmagpu/rdma_gpu_buffer.hpp>

void use(const rdmagpu::RdmaGpuBuffer& shared, rdmagpu::RdmaGpuBuffer& own) {
#ifdef VIOLATION
  shared.destroy();
#endif
  own.destroy();
  static_cast<void>(shared);
}
