// expect: deleted
#include <rdmagpu/rdma_gpu_buffer.hpp>

bool use() {
  const rdmagpu::RdmaGpuBuffer buffer;
  const bool exported = buffer.exportRegion().has_value();
#ifdef VIOLATION
  return rdmagpu::RdmaGpuBuffer{}.exportRegion().has_value();
#endif
  return exported;
}
