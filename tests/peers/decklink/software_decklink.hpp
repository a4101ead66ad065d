#pragma once
#include "sdk/DeckLinkAPI.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// The card behind the stand-in of the SDK: an input that receives on a thread, in buffers of the allocator
/// that it was given, and a list of the SDK's rules that were broken.
namespace rdmagpu::decklinktest {

using Bytes = std::vector<std::byte>;

struct CardConfig {
  bool present{true};
  std::uint32_t rowBytes{400};
  std::uint32_t height{250};
  std::size_t prefetch{2};                ///< Buffers that it asks for beforehand.
  std::size_t held{};                     ///< Frames that it lets go of so many frames later.
  std::chrono::microseconds period{500};  ///< From frame to frame.
  std::uint64_t silentFrame = UINT64_MAX; ///< The first from this number on that has a buffer is not written.
  std::map<std::string, HRESULT> failing{}; ///< These calls answer that.
};

/// Every object of the SDK must be gone.
void reset(const CardConfig& = {});
Bytes frameOf(std::uint64_t n, std::size_t bytes);
std::vector<std::string> violations();
std::size_t liveObjects();  ///< Of the SDK's.
std::uint64_t lostFrames(); ///< For want of a buffer.
/// A frame in that buffer, whose reference it takes over; null: in one of the SDK's own.
IDeckLinkVideoInputFrame* makeFrame(IDeckLinkVideoBuffer* buffer = nullptr);
IDeckLinkInput* openInput();

} // namespace rdmagpu::decklinktest
