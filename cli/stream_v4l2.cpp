#include "frames/frame_writer.hpp"
#include "interrupt.hpp"
#include "memory_text.hpp"
#include "stream/v4l2_capture.hpp"
#include "stream_end.hpp"

#include <fmt/core.h>

#include <optional>
#include <utility>

namespace rdmagpu::cli {
namespace {

StagedBufferConfig slotConfig(const StreamOptions& options, const peers::V4l2Peer& peer) {
  StagedBufferConfig config{.buffer = options.buffer.config(), .policy = options.policy};
  config.buffer.frameBytes = peer.frameBytes();
  if(options.staged)
    config.path = SlotPath::Staged;
  if(options.proof)
    config.proof = FrameProofConfig{.onFault = *options.proof};
  return config;
}

} // namespace

int runV4l2Stream(const StreamOptions& options) {
  catchSignals();
  StreamReport report = emptyReport(options);
  report.input = options.v4l2->path;
  peers::V4l2Config wanted = options.v4l2->config;
  if(options.rate)
    wanted.timePerFrame = {static_cast<std::uint32_t>(options.rate->denominator),
                           static_cast<std::uint32_t>(options.rate->numerator)};
  auto peer = peers::V4l2Peer::open(options.v4l2->path.c_str(), wanted);
  if(!peer) {
    Failure failure = v4l2Failure(peer.error());
    failure.message = fmt::format("{}: {}", options.v4l2->path, failure.message);
    return refuse(options, report, failure);
  }
  report.device = deviceReport(*peer);
  report.input = fmt::format("{} ({} {}x{})", options.v4l2->path, report.device->format, report.device->width,
                             report.device->height);
  std::optional<FrameWriter> out;
  if(!options.out.empty()) {
    auto writer = FrameWriter::open(options.out, {}, &stopFlag());
    if(!writer)
      return refuse(options, report, failureOf(writer.error()));
    out.emplace(*std::move(writer));
  }
  const StagedBufferConfig config = slotConfig(options, *peer);
  {
    const DefaultSignals endAtOnce;
    if(const auto started = peer->start(config); !started)
      return refuse(options, report,
                    allocationFailure(started.error(), config.buffer.api, config.buffer.slotCount,
                                      streamConfigOptions));
  }
  const StagedBuffer& staged = *peer->buffer();
  noteUnusedGpu("stream", options.buffer.gpu, staged.applicationBuffer());
  report.device = deviceReport(*peer);
  report.memory = staged.facts().application;
  if(staged.facts().path == SlotPath::Staged)
    report.staging = staged.facts();
  auto failure = runV4l2Capture(
      {.peer = *peer, .out = out ? &*out : nullptr, .frames = options.frames, .stop = stopFlag()}, report);
  if(out) {
    if(const auto finished = out->finish(); !finished && !failure)
      failure = failureOf(finished.error());
  }
  report.proof = staged.applicationBuffer().proof();
  report.interrupted = stopSignal() != 0;
  return conclude(options, report, std::move(failure));
}

} // namespace rdmagpu::cli
