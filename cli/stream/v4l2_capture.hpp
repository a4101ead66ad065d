#pragma once
#include "failure.hpp"
#include "frames/frame_writer.hpp"
#include "stream/report.hpp"

#include <rdmagpu/peers/v4l2.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

namespace rdmagpu::cli {

/// What a capture from a device needs. All of it is borrowed for the run.
struct V4l2Capture {
  peers::V4l2Peer& peer; ///< Its stream was started, with slots of its own.
  FrameWriter* out{};    ///< Null: frames are not written, and given back as they are.
  std::uint64_t frames{};
  std::atomic<bool>& stop;
};

/// Takes frames until there are enough, or the device or the stop flag ends it; completes the report.
std::optional<Failure> runV4l2Capture(const V4l2Capture& capture, StreamReport& report);

} // namespace rdmagpu::cli
