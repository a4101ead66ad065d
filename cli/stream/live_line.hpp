#pragma once
#include "stream/tally.hpp"

#include <rdmagpu/frame_proof.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::cli {

/// One line on stderr, written over several times a second; silent where stderr is no terminal.
class LiveLine {
public:
  LiveLine() noexcept;
  /// Leaves the terminal's line empty.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// May be called as often as one likes. `losses` are called `lossName`: "drops" or "underruns".
  void update(const Tally& tally, std::uint64_t losses, const char* lossName,
              const std::optional<FrameProofCounters>& proof = {});

private:
  bool m_terminal;
  std::int64_t m_shownAt{};
  Tally::Totals m_shown;
};

/// "1234 frames  59.9 fps  0.25 GB/s  0 drops  p50 0.21 ms  p99 0.40 ms", and with a proof "  0 faults".
std::string liveText(const Tally& tally, const Tally::Totals& since, std::int64_t nanoseconds,
                     std::uint64_t losses, const char* lossName,
                     const std::optional<FrameProofCounters>& proof = {});

} // namespace rdmagpu::cli
