#pragma once
#include <rdmagpu/peers/v4l2.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// A V4L2 device behind V4l2Calls, which does what the kernel's videobuf2 does: it fills or reads a buffer
/// when the test says so. It reaches user pointers; of a dma-buf it looks at the descriptor only.
namespace rdmagpu::v4l2test {

using Bytes = std::vector<std::byte>;

/// Frame `n` as the device makes it.
Bytes frameOf(std::uint64_t n, std::size_t bytes);

struct CardConfig {
  std::uint32_t capabilities{V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING};
  std::uint32_t planes{1}; ///< Of a multi-planar device's format.
  std::uint32_t frameBytes{100'000};
  bool takesDmaBufs{true};
  bool takesPointers{true};
  bool hasPrepare{true};
  std::uint32_t fewestBuffers{1};
  std::uint32_t mostBuffers{32};
  std::uint32_t dataOffset{};
  bool monotonic{true}; ///< The timestamps' clock.
};

/// The device must be closed.
void reset(const CardConfig& = {});
peers::V4l2Calls calls();

/// That call (a VIDIOC_ code), the n-th from now, answers `code` and does nothing.
void failCall(unsigned long request, int code, int n = 1, int times = 1);
/// "open" or "poll".
void failSystemCall(const std::string& call, int code);
/// From now on every call but close() answers ENODEV, and poll() POLLERR.
void unplug();
/// From now on poll() answers POLLERR, and no buffer comes back.
void breakDown();

struct Filled {
  std::optional<std::uint32_t> sequence{}; ///< Empty: one more than the last one.
  std::uint32_t flags{};
  std::optional<std::uint32_t> bytes{}; ///< Empty: all.
  bool written{true};                   ///< Capture: else nothing is, and it is announced all the same.
};
/// Waits for a queued buffer and completes it. Capture: frame `n` is written to it. False if none came.
bool complete(std::uint64_t n = 0, const Filled& how = {});
/// Returns when that many buffers are queued and not completed; false if that does not come.
bool awaitQueued(std::size_t count);
/// The stream of the capture side has come to its end: DQBUF answers EPIPE.
void endOfStream();

struct QueuedBuffer {
  std::uint32_t index{};
  std::uint32_t memory{};
  std::uint32_t bytes{};
  std::uint32_t length{};
  std::uint32_t field{};
  int fd = -1;
};
std::vector<QueuedBuffer> queued();    ///< By every QBUF, in order.
std::vector<Bytes> sent();             ///< Playout: what the device read through pointers.
std::vector<std::string> violations(); ///< Rules of V4L2 that were broken.
std::vector<std::string> ioctls();     ///< Each call's name, in order; not DQBUF.
v4l2_format setFormat();               ///< The last VIDIOC_S_FMT as it came.
int input();                           ///< The last VIDIOC_S_INPUT or S_OUTPUT; -1: none.
bool isOpen();

} // namespace rdmagpu::v4l2test
