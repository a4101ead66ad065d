#pragma once
#include "sdk/VideoMasterHD_Core.h"

#include "sdk/VideoMasterHD_Sdi.h"

#include "sdk/VideoMasterHD_ApplicationBuffers.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// The card behind the stand-in of the SDK: one board, streams that run on threads, and a list of the SDK's
/// rules that were broken. Memory of the software CUDA device is memory of this process: it reaches that,
/// too.
namespace rdmagpu::vhdtest {

using Bytes = std::vector<std::byte>;

/// Frame `n` as the card makes it in reception.
Bytes frameOf(std::uint64_t n, std::size_t bytes);

struct CardConfig {
  std::array<ULONG, NB_VHD_SDI_BUFFERTYPE> bufferBytes{0, 0, 100'000, 0};
  std::chrono::microseconds period{1000}; ///< From frame to frame.
  bool takesRdma{true};
  bool stopsIdleStreams = true; ///< VHD_StopStream of a stream that does not run destroys its slots, too.
  std::uint64_t frames = UINT64_MAX; ///< Reception: then the signal ends.
  /// Reception: how much is written of the n-th frame that finds a slot.
  std::function<std::size_t(std::uint64_t n, std::size_t bytes)> written{};
};

/// All streams must be closed.
void reset(const CardConfig& = {});

/// That call, the n-th from now, answers `code` and does nothing. VHD_CreateSlotEx as "VHD_CreateSlotEx".
void failCall(const std::string& call, ULONG code, int n = 1, int times = 1);

std::vector<std::string> calls();      ///< Each call's name, in order; not those that waited in vain.
std::vector<std::string> violations(); ///< Rules that were broken.
std::vector<Bytes> sent();             ///< Transmission: what the card read.
std::size_t liveSlots();
std::size_t openStreams();
/// What the last VHD_CreateSlotEx was told, in the order of the types.
std::vector<VHD_APPLICATION_BUFFER_DESCRIPTOR> lastDescriptors();

/// A stream of that type on the board.
HANDLE openStream(ULONG type);

} // namespace rdmagpu::vhdtest
