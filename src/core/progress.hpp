#pragma once
#include <atomic>
#include <cstddef>

namespace rdmagpu {

/// How far one who fills slots has come with a frame. Has one writer.
struct Progress {
  std::size_t bytes{};
  std::atomic<std::size_t> bytesReady{};

  bool whole() const noexcept { return bytesReady.load(std::memory_order_acquire) == bytes; }
};

} // namespace rdmagpu
