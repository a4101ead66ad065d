#include <core/slice_size.hpp>

#include <os/cpu_relax.hpp>

#include <algorithm>
#include <chrono>

namespace rdmagpu::core {
namespace {

constexpr std::size_t smallest = 64 * 1024;
constexpr int rounds = 3; // the fastest counts: whatever else the machine does only makes one slower

using Clock = std::chrono::steady_clock;

Result<Clock::duration> timeOf(StageCopies& copies, std::size_t bytes) {
  Clock::duration fastest = Clock::duration::max();
  for(int i = 0; i < rounds; ++i) {
    const Clock::time_point start = Clock::now();
    const auto copy = copies.start(0, 0, bytes);
    if(!copy)
      return copy.error();
    while(!copy->done()) // as the pump does
      os::cpuRelax();
    fastest = std::min(fastest, Clock::now() - start);
    if(const auto outcome = copy->wait(); !outcome)
      return outcome.error();
  }
  return fastest;
}

} // namespace

Result<std::size_t> measureSlice(StageCopies& copies, std::size_t frameBytes) {
  const auto whole = timeOf(copies, frameBytes);
  if(!whole)
    return whole.error();
  const double nanosecondsAByte = static_cast<double>(whole->count()) / static_cast<double>(frameBytes);
  for(std::size_t bytes = smallest; bytes < frameBytes; bytes *= 2) {
    const auto time = timeOf(copies, bytes);
    if(!time)
      return time.error();
    if(static_cast<double>(time->count()) <= 2 * nanosecondsAByte * static_cast<double>(bytes))
      return bytes;
  }
  return frameBytes;
}

} // namespace rdmagpu::core
