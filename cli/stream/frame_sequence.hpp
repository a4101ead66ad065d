#pragma once
#include "frames/frame_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace rdmagpu::cli {

/// Stands for "without end" in counts of rounds and frames.
inline constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

/// An input's frames, all of them so many times over, up to a limit.
class FrameSequence {
public:
  /// The reader is borrowed.
  FrameSequence(FrameReader& reader, std::uint64_t rounds, std::uint64_t frames) noexcept
      : m_reader(&reader), m_rounds(rounds), m_left(frames) {}

  std::size_t frameBytes() const noexcept { return m_reader->frameBytes(); }

  Expected<FrameStatus> read(std::span<std::byte> into) {
    if(m_left == 0)
      return FrameStatus::End;
    auto status = m_reader->read(into);
    if(status && *status == FrameStatus::End && m_rounds > 1) {
      if(m_rounds != endless)
        --m_rounds;
      if(const auto again = m_reader->rewind(); !again)
        return again.error();
      status = m_reader->read(into);
    }
    if(status && *status == FrameStatus::Frame && m_left != endless)
      --m_left;
    return status;
  }

private:
  FrameReader* m_reader;
  std::uint64_t m_rounds; ///< The one that is under way included.
  std::uint64_t m_left;
};

} // namespace rdmagpu::cli
