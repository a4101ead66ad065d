// expect: nodiscard
#include <rdmagpu/dma_buf.hpp>

int use(rdmagpu::DmaBuf& dmaBuf) {
#ifdef VIOLATION
  dmaBuf.release();
#endif
  return dmaBuf.release();
}
