#include "stream/live_line.hpp"

#include "human.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace rdmagpu::cli {
namespace {

constexpr std::int64_t showEvery = 250'000'000;
constexpr const char* clearLine = "\r\x1b[K";

} // namespace

LiveLine::LiveLine() noexcept : m_terminal(::isatty(STDERR_FILENO) == 1), m_shownAt(steadyNow()) {}

LiveLine::~LiveLine() {
  if(m_terminal)
    std::fputs(clearLine, stderr);
}

void LiveLine::update(const Tally& tally, std::uint64_t losses, const char* lossName,
                      const std::optional<FrameProofCounters>& proof) {
  if(!m_terminal)
    return;
  const std::int64_t now = steadyNow();
  if(now - m_shownAt < showEvery)
    return;
  const std::string text = clearLine + liveText(tally, m_shown, now - m_shownAt, losses, lossName, proof);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  m_shown = tally.totals();
  m_shownAt = now;
}

std::string liveText(const Tally& tally, const Tally::Totals& since, std::int64_t nanoseconds,
                     std::uint64_t losses, const char* lossName,
                     const std::optional<FrameProofCounters>& proof) {
  const Tally::Totals totals = tally.totals();
  const LatencyHistogram latency = tally.latency();
  const double seconds = static_cast<double>(nanoseconds) / 1e9;
  return fmt::format(
      "{} frames  {:.1f} fps  {:.2f} GB/s  {} {}  p50 {}  p99 {}{}", totals.frames,
      static_cast<double>(totals.frames - since.frames) / seconds,
      static_cast<double>(totals.bytes - since.bytes) / seconds / 1e9, losses, lossName,
      durationText(latency.percentile(50)), durationText(latency.percentile(99)),
      proof ? fmt::format("  {} {}", proof->faults(), proof->faults() == 1 ? "fault" : "faults") : "");
}

} // namespace rdmagpu::cli
