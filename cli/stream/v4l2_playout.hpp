#pragma once
#include "failure.hpp"
#include "stream/frame_feed.hpp"
#include "stream/report.hpp"

#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/peers/v4l2.hpp>

#include <atomic>
#include <optional>

namespace rdmagpu::cli {

/// What playing out to a device needs. All of it is borrowed for the run.
struct V4l2Playout {
  peers::V4l2Peer& peer; ///< It was started, with slots of its own, and waits for them to be full.
  CopyQueue& queue;
  FrameFeed& feed;
  std::atomic<bool>& stop;
};

/// Has the device send the feed's frames, until it has sent the last, or the stop flag ends it; completes the
/// report.
std::optional<Failure> runV4l2Playout(const V4l2Playout& playout, StreamReport& report);

} // namespace rdmagpu::cli
