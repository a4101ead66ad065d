#pragma once
#include "frames/input_error.hpp"

#include <rdmagpu/software_peer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rdmagpu::cli {

/// A frame as the input gave it.
struct SourceFrame {
  std::span<const std::byte> bytes;
  std::uint64_t hash{}; ///< By the feed's FrameHash.
};

/// The frames of an input for both ends of a stream: whoever fills the slots gets them one after the other
/// through next(), and whoever checks what came out gets the same frame again by its sequence number.
///
/// next() and ready() belong to the thread that fills, expectTake() and source() to the one that checks.
/// Frames have the sequence numbers that the ring gives them: every frame of next() uses one up.
class FrameFeed : public FrameSource {
public:
  /// Waits at most that long for next() not to have to wait.
  virtual bool ready(std::chrono::milliseconds) = 0;

  /// From now on a frame may be taken out of the ring; those that it can be are kept until source().
  virtual void expectTake() = 0;
  /// The frame of that number, which was taken. Valid until the next call. Empty when it is none of those
  /// to be checked, or was never handed out.
  virtual std::optional<SourceFrame> source(std::uint64_t sequence) = 0;

  /// Why next() ended before the input did. For when next() is called no more.
  virtual std::optional<InputError> failure() const = 0;
};

} // namespace rdmagpu::cli
