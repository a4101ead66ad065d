#pragma once
#include <rdmagpu/backends.hpp>
#include <rdmagpu/block_peer.hpp>
#include <rdmagpu/c/backends.h>
#include <rdmagpu/c/block_peer.h>
#include <rdmagpu/c/buffer.h>
#include <rdmagpu/c/copy_queue.h>
#include <rdmagpu/c/cuda.h>
#include <rdmagpu/c/dma_buf.h>
#include <rdmagpu/c/doctor.h>
#include <rdmagpu/c/frame_proof.h>
#include <rdmagpu/c/inspect.h>
#include <rdmagpu/c/registrar.h>
#include <rdmagpu/c/ring.h>
#include <rdmagpu/c/share.h>
#include <rdmagpu/c/software_peer.h>
#include <rdmagpu/c/staged.h>
#include <rdmagpu/c/verify.h>
#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/cuda_completions.hpp>
#include <rdmagpu/dma_buf.hpp>
#include <rdmagpu/doctor.hpp>
#include <rdmagpu/frame_proof.hpp>
#include <rdmagpu/inspect.hpp>
#include <rdmagpu/peers/registrar.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>
#include <rdmagpu/verify.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rdmagpu::capi {

/// An object of its own, or part of another one of C's, which it goes with: destroying it does nothing then.
template <class Value>
class Held {
public:
  using Own = std::remove_const_t<Value>;
  explicit Held(Own made) noexcept : m_own(std::move(made)), value(*m_own) {}
  explicit Held(Value* part) noexcept : value(*part) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() = default;

  bool isPart() const noexcept { return !m_own; }

private:
  std::optional<Own> m_own;

public:
  Value& value;
};

/// A ring, and what it needs as long.
struct ProvenRing {
  std::shared_ptr<FrameProof> proof;
  SlotRing ring;
};

template <class Object>
void destroy(Object* object) noexcept {
  if(object && !object->isPart())
    delete object;
}

} // namespace rdmagpu::capi

// What is behind the opaque types.

struct rdmagpu_buffer : rdmagpu::capi::Held<const rdmagpu::RdmaGpuBuffer> {
  using Held::Held;
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
struct rdmagpu_frame_proof {
  std::shared_ptr<rdmagpu::FrameProof> value;
};
struct rdmagpu_ring {
  explicit rdmagpu_ring(rdmagpu::SlotRing made) noexcept : ring(std::move(made)) {}
  explicit rdmagpu_ring(rdmagpu::capi::ProvenRing made) noexcept
      : proof(std::move(made.proof)), ring(std::move(made.ring)) {}
  explicit rdmagpu_ring(rdmagpu::SlotRing* part) noexcept : ring(part) {}
  bool isPart() const noexcept { return ring.isPart(); }

  std::shared_ptr<rdmagpu::FrameProof> proof; // outlives the ring
  rdmagpu::capi::Held<rdmagpu::SlotRing> ring;
  rdmagpu::SlotRing& value = ring.value;
};
struct rdmagpu_staged {
  explicit rdmagpu_staged(rdmagpu::StagedBuffer made) noexcept : value(std::move(made)) {}

  rdmagpu::StagedBuffer value;
  rdmagpu_ring ring{&value.ring()};
  rdmagpu_buffer application{&value.applicationBuffer()};
  rdmagpu_buffer peer{&value.peerBuffer()};
  rdmagpu_buffer companions{&value.companionBuffer()};
};
struct rdmagpu_cuda_completions {
  rdmagpu::CudaCompletions value;
};
struct rdmagpu_copy_queue {
  rdmagpu::CopyQueue value;
};
struct rdmagpu_memory {
  rdmagpu::MemoryFacts value;
};
struct rdmagpu_diagnosis {
  rdmagpu::DoctorReport value;
};
struct rdmagpu_explanations {
  std::vector<rdmagpu::Explanation> value;
};
struct rdmagpu_software_peer {
  explicit rdmagpu_software_peer(rdmagpu::SoftwarePeer made) noexcept : value(std::move(made)) {}

  std::unique_ptr<rdmagpu::FrameSource> source; // both outlive the peer's thread
  std::unique_ptr<rdmagpu::FrameSink> sink;
  rdmagpu::SoftwarePeer value;
};
struct rdmagpu_block_peer {
  rdmagpu::BlockPeer value;
};
struct rdmagpu_registration {
  rdmagpu::peers::PeerRegistration value;
};
struct rdmagpu_report {
  explicit rdmagpu_report(rdmagpu::VerifyReport made) : value(std::move(made)), peer(value.peer) {}
  rdmagpu::VerifyReport value;
  std::string peer; ///< The report's own is the peer's.
};
