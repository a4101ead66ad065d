// expect: deleted|implicitly-deleted
#include <rdmagpu/dma_buf.hpp>

#include <utility>

void use() {
  rdmagpu::DmaBuf dmaBuf;
  rdmagpu::DmaBuf moved = std::move(dmaBuf);
#ifdef VIOLATION
  rdmagpu::DmaBuf copy = moved;
#endif
}
