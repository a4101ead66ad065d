#include "stream/v4l2_report.hpp"

#include "frames/picture_size.hpp"
#include "stream/v4l2_option.hpp"

#include <rdmagpu/staged_buffer.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

namespace rdmagpu::cli {

Failure v4l2Failure(const Error& error, bool playout) {
  Failure failure = failureOf(error);
  if(std::string_view(error.codeName) == "PeerFlow") {
    failure.message = playout
                          ? "it is no output that streams: --playout must have a device that puts out"
                          : "it does not stream what it captures: without --playout the device must capture";
    return failure;
  }
  if(std::string_view(error.codeName) != "PeerFormat")
    return failure;
  const auto asked = static_cast<std::uint32_t>(error.bytes);
  const auto got = static_cast<std::uint32_t>(error.available);
  if(asked > maxDimension) // else it is a width or height
    failure.message =
        fmt::format("the device has no format {}: it took {} instead", fourccText(asked), fourccText(got));
  else
    failure.message =
        fmt::format("the device has no picture {0} pixels wide or high: it took {1} for {0}", asked, got);
  return failure;
}

DeviceReport deviceReport(const peers::V4l2Peer& peer) {
  const peers::V4l2Format format = peer.format();
  return {.format = fourccText(format.pixelFormat),
          .width = format.width,
          .height = format.height,
          .bytesPerLine = format.bytesPerLine,
          .frameBytes = format.frameBytes,
          .rate = {format.timePerFrame.denominator, format.timePerFrame.numerator},
          .memory = name(peer.memory()),
          .memoryReason = peer.memoryReason(),
          .fallback = peer.fallback()};
}

void addCounters(DeviceReport& report, const peers::V4l2Peer& peer) {
  const peers::V4l2Counters counters = peer.counters();
  report.lost = counters.lost;
  report.faulty = counters.faulty;
  report.timeouts = counters.timeouts;
}

std::optional<Failure> failureBehind(peers::V4l2Peer& peer) {
  if(const Error error = peer.buffer()->error(); error.kind != Errc::None)
    return failureOf(error);
  if(const Error error = peer.counters().error; error.kind != Errc::None)
    return failureOf(error);
  return {};
}

} // namespace rdmagpu::cli
