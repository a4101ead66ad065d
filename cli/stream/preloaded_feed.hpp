#pragma once
#include "frames/frame_reader.hpp"
#include "parse/check_mode.hpp"
#include "stream/frame_feed.hpp"
#include "stream/frame_memory.hpp"
#include "stream/hash.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace rdmagpu::cli {

/// The whole input in memory, handed out without a copy, so that a stream shows the speed of the slots and
/// not of the disk.
class PreloadedFeed final : public FrameFeed {
public:
  /// Reads the input to its end or to `frames`, whichever is first. More than `room` frames are refused.
  static Expected<std::unique_ptr<PreloadedFeed>> load(FrameReader& reader, CheckMode check,
                                                       std::uint64_t rounds, std::uint64_t frames,
                                                       std::uint64_t room, const CopyingGpu& gpu = {},
                                                       FrameHash hash = hashOf);

  std::span<const std::byte> next() override;
  std::size_t framesKept() const noexcept override { return std::numeric_limits<std::size_t>::max(); }
  bool ready(std::chrono::milliseconds) override { return true; }
  void expectTake() override {}
  std::optional<SourceFrame> source(std::uint64_t sequence) override;
  std::optional<InputError> failure() const override { return {}; }

private:
  struct Frame {
    FrameMemory memory;
    std::uint64_t hash{};
  };
  explicit PreloadedFeed(std::size_t frameBytes) noexcept : m_frameBytes(frameBytes) {}
  std::span<const std::byte> bytes(const Frame& frame) const noexcept {
    return {frame.memory.data(), m_frameBytes};
  }

  std::size_t m_frameBytes;
  std::vector<Frame> m_frames;
  std::uint64_t m_total{}; ///< To hand out.
  std::uint64_t m_next{};
};

} // namespace rdmagpu::cli
