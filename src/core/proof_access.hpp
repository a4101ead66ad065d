#pragma once
#include <rdmagpu/frame_proof.hpp>

#include <cstddef>
#include <cstdint>

namespace rdmagpu::core {

struct ProofAccess {
  /// Looks at the first `bytes` bytes of a frame that is about to be read from there, ahead of check(), which
  /// then looks at the rest: what comes into them from now on is too late. Of slots on a GPU nothing is
  /// looked at ahead.
  static void look(FrameProof&, std::uint32_t slot, std::size_t bytes) noexcept;
};

} // namespace rdmagpu::core
