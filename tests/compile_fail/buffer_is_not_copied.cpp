// expect: deleted|implicitly-deleted
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <utility>

void use() {
  rdmagpu::RdmaGpuBuffer buffer;
  rdmagpu::RdmaGpuBuffer moved = std::move(buffer);
#ifdef VIOLATION
  rdmagpu::RdmaGpuBuffer copy = moved;
#endif
}
