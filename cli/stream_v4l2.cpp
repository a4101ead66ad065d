#include "frames/frame_writer.hpp"
#include "interrupt.hpp"
#include "memory_text.hpp"
#include "stream/v4l2_capture.hpp"
#include "stream/v4l2_playout.hpp"
#include "stream/v4l2_report.hpp"
#include "stream_end.hpp"
#include "stream_input.hpp"

#include <rdmagpu/copy_queue.hpp>

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

namespace rdmagpu::cli {
namespace {

StagedBufferConfig slotConfig(const StreamOptions& options, const peers::V4l2Peer& peer) {
  StagedBufferConfig config{.buffer = options.buffer.config(),
                            .flow = options.playout ? SlotFlow::Playout : SlotFlow::Capture,
                            .policy = options.policy};
  config.buffer.frameBytes = peer.frameBytes();
  if(options.staged)
    config.path = SlotPath::Staged;
  if(options.proof)
    config.proof = FrameProofConfig{.onFault = *options.proof};
  return config;
}

CopyingGpu gpuOf(const StagedBuffer& staged) {
  const BufferFacts& facts = staged.facts().application;
  return onGpu(facts) ? facts.pci : std::nullopt;
}

Step<peers::V4l2Peer> openDevice(const StreamOptions& options, FrameRate rate) {
  peers::V4l2Config wanted = options.v4l2->config;
  wanted.flow = options.playout ? SlotFlow::Playout : SlotFlow::Capture;
  wanted.primeFrames = options.buffer.slots;
  wanted.timePerFrame = {rate.denominator, rate.numerator};
  if(rate.numerator == 0)
    wanted.timePerFrame = {};
  auto peer = peers::V4l2Peer::open(options.v4l2->path.c_str(), wanted);
  if(peer)
    return {.value = *std::move(peer)};
  Failure failure = v4l2Failure(peer.error(), options.playout);
  failure.message = fmt::format("{}: {}", options.v4l2->path, failure.message);
  return {.failure = failure};
}

std::string pictureOf(const DeviceReport& device) {
  return fmt::format("{} {}x{}", device.format, device.width, device.height);
}

Failure otherSize(const StreamOptions& options, const FrameReader& input, const DeviceReport& device) {
  return {.kind = "Contradiction",
          .message = fmt::format("{} ({}) has frames of {} bytes, and {} takes {} bytes: {}, {} a line",
                                 options.input, input.describe(), input.frameBytes(), options.v4l2->path,
                                 device.frameBytes, pictureOf(device), device.bytesPerLine),
          .hints = {"Name the format and size of the input's frames behind the device, such as "
                    "--peer v4l2:/dev/video1,format=UYVY,size=640x480."}};
}

/// The device's slots, made and started; what became of them is in the report.
std::optional<Failure> startDevice(const StreamOptions& options, peers::V4l2Peer& peer,
                                   StreamReport& report) {
  const StagedBufferConfig config = slotConfig(options, peer);
  {
    const DefaultSignals endAtOnce;
    if(const auto started = peer.start(config); !started)
      return allocationFailure(started.error(), config.buffer.api, config.buffer.slotCount,
                               streamConfigOptions);
  }
  const StagedBuffer& staged = *peer.buffer();
  noteUnusedGpu("stream", options.buffer.gpu, staged.applicationBuffer());
  report.device = deviceReport(peer);
  report.memory = staged.facts().application;
  if(staged.facts().path == SlotPath::Staged)
    report.staging = staged.facts();
  return {};
}

int playOut(const StreamOptions& options, StreamReport report) {
  auto reader = openInput(options);
  if(reader.failure)
    return refuse(options, report, *reader.failure);
  FrameReader& input = **reader.value;
  report.input = fmt::format("{} ({})", options.input, input.describe());
  const auto rate = paceOf(options, input);
  if(rate.failure)
    return refuse(options, report, *rate.failure);
  auto peer = openDevice(options, *rate.value);
  if(peer.failure)
    return refuse(options, report, *peer.failure);
  report.device = deviceReport(*peer.value);
  if(input.frameBytes() != peer.value->frameBytes())
    return refuse(options, report, otherSize(options, input, *report.device));
  if(auto failure = startDevice(options, *peer.value, report))
    return refuse(options, report, *failure);
  StagedBuffer& staged = *peer.value->buffer();
  auto queue = CopyQueue::make(staged.applicationBuffer());
  if(!queue)
    return refuse(options, report, failureOf(queue.error()));
  auto feed = makeFeed(options, input, staged.ring(), gpuOf(staged), hashOf);
  if(feed.failure)
    return refuse(options, report, *feed.failure);
  auto failure = runV4l2Playout(
      {.peer = *peer.value, .queue = *queue, .feed = **feed.value, .stop = stopFlag()}, report);
  report.proof = staged.applicationBuffer().proof();
  report.interrupted = stopSignal() != 0;
  return conclude(options, report, std::move(failure));
}

int capture(const StreamOptions& options, StreamReport report) {
  report.input = options.v4l2->path;
  auto peer = openDevice(options, options.rate ? FrameRate{options.rate->numerator, options.rate->denominator}
                                               : FrameRate{});
  if(peer.failure)
    return refuse(options, report, *peer.failure);
  report.device = deviceReport(*peer.value);
  report.input = fmt::format("{} ({})", options.v4l2->path, pictureOf(*report.device));
  std::optional<FrameWriter> out;
  if(!options.out.empty()) {
    auto writer = FrameWriter::open(options.out, {}, &stopFlag());
    if(!writer)
      return refuse(options, report, failureOf(writer.error()));
    out.emplace(*std::move(writer));
  }
  if(auto failure = startDevice(options, *peer.value, report))
    return refuse(options, report, *failure);
  auto failure = runV4l2Capture(
      {.peer = *peer.value, .out = out ? &*out : nullptr, .frames = options.frames, .stop = stopFlag()},
      report);
  if(out) {
    if(const auto finished = out->finish(); !finished && !failure)
      failure = failureOf(finished.error());
  }
  report.proof = peer.value->buffer()->applicationBuffer().proof();
  report.interrupted = stopSignal() != 0;
  return conclude(options, report, std::move(failure));
}

} // namespace

int runV4l2Stream(const StreamOptions& options) {
  catchSignals();
  return options.playout ? playOut(options, emptyReport(options)) : capture(options, emptyReport(options));
}

} // namespace rdmagpu::cli
