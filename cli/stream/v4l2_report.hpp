#pragma once
#include "failure.hpp"
#include "stream/report.hpp"

#include <rdmagpu/peers/v4l2.hpp>

#include <optional>

namespace rdmagpu::cli {

/// A device's refusal in the program's words: a format by its letters, a direction by its option; others as
/// they are.
Failure v4l2Failure(const Error& error, bool playout);

/// What the device was set to, and how it has the slots.
DeviceReport deviceReport(const peers::V4l2Peer& peer);
/// What it counted.
void addCounters(DeviceReport& report, const peers::V4l2Peer& peer);

/// The first of the failures that a run leaves behind: that of the copies, or the device's.
std::optional<Failure> failureBehind(peers::V4l2Peer& peer);

} // namespace rdmagpu::cli
