// expect: deleted|implicitly-deleted
#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <utility>

void use() {
  rdmagpu::SharedBuffer shared;
  rdmagpu::SharedBuffer moved = std::move(shared);
#ifdef VIOLATION
  rdmagpu::SharedBuffer copy = moved;
#endif
}
