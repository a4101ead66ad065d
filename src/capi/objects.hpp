#pragma once
#include <rdmagpu/backends.hpp>
#include <rdmagpu/c/backends.h>
#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/copy_queue.h>
#include <rdmagpu/c/dma_buf.h>
#include <rdmagpu/c/ring.h>
#include <rdmagpu/c/share.h>
#include <rdmagpu/c/verify.h>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/dma_buf.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/verify.hpp>

#include <memory>
#include <vector>

// What is behind the opaque types.

struct rdmagpu_buffer {
  rdmagpu::RdmaGpuBuffer value;
};
struct rdmagpu_keep_alive {
  std::shared_ptr<const void> value;
};
struct rdmagpu_dma_buf {
  rdmagpu::DmaBuf value;
};
struct rdmagpu_shared {
  rdmagpu::SharedBuffer value;
};
struct rdmagpu_backends {
  std::vector<rdmagpu::BackendInfo> value;
};
struct rdmagpu_ring {
  rdmagpu::SlotRing value;
};
struct rdmagpu_copy_queue {
  rdmagpu::CopyQueue value;
};
struct rdmagpu_report {
  rdmagpu::VerifyReport value;
};
