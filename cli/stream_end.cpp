#include "stream_end.hpp"

#include "interrupt.hpp"
#include "json.hpp"
#include "output.hpp"

#include <cstdio>
#include <utility>

namespace rdmagpu::cli {

int conclude(const StreamOptions& options, const StreamReport& report, std::optional<Failure> failure) {
  for(auto& found : {mismatchFailure(report.check), faultFailure(report.frameProof)}) {
    if(!failure)
      failure = found;
    else if(found)
      printFailure("stream", *found);
  }
  if(failure)
    printFailure("stream", *failure);
  const int exitCode = report.interrupted ? 128 + stopSignal() : failure ? exitNo : exitDone;
  if(options.json) {
    Json json = toJson(report);
    if(failure)
      json["error"] = toJson(*failure);
    return finishWith(jsonText(json), "stream", exitCode);
  }
  if(options.out != "-")
    return finishWith(reportText(report), "stream", exitCode);
  // The frames have standard output.
  std::fputs(reportText(report).c_str(), stderr);
  return exitCode;
}

StreamReport emptyReport(const StreamOptions& options) {
  return {.input = options.input,
          .peer = options.peer.text,
          .playout = options.playout,
          .policy = options.policy,
          .onFault = options.proof};
}

int refuse(const StreamOptions& options, StreamReport report, const Failure& failure) {
  report.interrupted = stopSignal() != 0;
  if(report.interrupted)
    return conclude(options, report, failure.kind == "Interrupted" ? std::nullopt : std::optional(failure));
  return fail("stream", options.json, failure, failure.kind == "Usage" ? exitUsage : exitNo);
}

} // namespace rdmagpu::cli
