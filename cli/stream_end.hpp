#pragma once
#include "failure.hpp"
#include "stream/report.hpp"
#include "stream/stream_options.hpp"

#include <optional>

namespace rdmagpu::cli {

/// Before anything was opened or allocated.
StreamReport emptyReport(const StreamOptions& options);
/// The report, then what was wrong, and the exit code that says the same.
int conclude(const StreamOptions& options, const StreamReport& report, std::optional<Failure> failure);
/// The end of a stream whose frames never began to move. A signal is answered as it is later: with a report.
int refuse(const StreamOptions& options, StreamReport report, const Failure& failure);

/// `stream` with a V4L2 device as its peer.
int runV4l2Stream(const StreamOptions& options);

} // namespace rdmagpu::cli
