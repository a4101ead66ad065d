// expect: deleted
#include <rdmagpu/rdma_gpu_buffer.hpp>

bool use() {
  const rdmagpu::RdmaGpuBuffer buffer;
  const bool exported = buffer.exportSlot(0).has_value();
#ifdef VIOLATION
  return rdmagpu::RdmaGpuBuffer{}.exportSlot(0).has_value();
#endif
  return exported;
}
