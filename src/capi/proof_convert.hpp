#pragma once
#include <capi/convert.hpp>
#include <capi/structs.hpp>
#include <rdmagpu/c/frame_proof.h>
#include <rdmagpu/frame_proof.hpp>

namespace rdmagpu::capi {

inline Result<FrameProofConfig> readProofConfig(const char* call,
                                                const rdmagpu_frame_proof_config* from) noexcept {
  if(!from)
    return FrameProofConfig{};
  const auto c = read(call, from);
  if(!c)
    return c.error();
  const auto policy = value("rdmagpu_frame_proof_config::on_fault", c->on_fault, FaultPolicy::FailOver);
  if(!policy)
    return policy.error();
  if(const auto good = checkBits("rdmagpu_frame_proof_config::partial_frames", c->partial_frames, 1); !good)
    return good.error();
  if(const auto good = checkBits("rdmagpu_frame_proof_config::reserved", c->reserved, 0); !good)
    return good.error();
  return FrameProofConfig{.onFault = *policy, .seed = c->seed, .wholeFrames = c->partial_frames == 0};
}

inline rdmagpu_frame_proof_counters toC(const FrameProofCounters& counters) noexcept {
  return {.struct_size = 0,
          .reserved = 0,
          .checked = counters.checked,
          .stale = counters.stale,
          .torn = counters.torn,
          .late = counters.late,
          .wrong_offset = counters.wrongOffset,
          .short_frames = counters.shortFrames,
          .unchecked = counters.unchecked};
}

} // namespace rdmagpu::capi
