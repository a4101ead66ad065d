#pragma once
#include "sdk/ntv2card.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

/// The card behind the stand-in of the SDK: frames in memory, what is locked, and a list of the rules that
/// were broken. Memory of the software CUDA device is memory of this process: it reaches that, too.
namespace rdmagpu::ajatest {

struct CardConfig {
  bool present{true};
  bool takesRdma{true};
  bool delivers{true};             ///< Else nothing that is written to locked memory by RDMA arrives.
  std::set<std::string> failing{}; ///< These calls answer false.
  int lockLimit = -1;              ///< So many locks; -1: any number.
};

void reset(const CardConfig& = {});
std::vector<std::string> violations();
std::size_t locked();
std::size_t lockedForRdma();

/// Frame `n` that the card received.
std::vector<std::byte> frameOf(ULWord n, std::size_t bytes);

} // namespace rdmagpu::ajatest
