#include "command.hpp"
#include "failure.hpp"
#include "frames/frame_writer.hpp"
#include "interrupt.hpp"
#include "memory_text.hpp"
#include "output.hpp"
#include "stream/report.hpp"
#include "stream/run.hpp"
#include "stream/stream_options.hpp"
#include "stream/stream_slots.hpp"
#include "stream_end.hpp"
#include "stream_input.hpp"

#include <rdmagpu/checksum.hpp>
#include <rdmagpu/copy_queue.hpp>

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

Step<StreamSlots> allocate(const StreamOptions& options, std::size_t frameBytes) {
  BufferOptions wanted = options.buffer;
  wanted.bytes = frameBytes;
  const RdmaGpuBufferConfig config = wanted.config();
  StagedBufferConfig slotConfig{.buffer = config,
                                .flow = options.playout ? SlotFlow::Playout : SlotFlow::Capture,
                                .policy = options.policy};
  if(options.proof)
    slotConfig.proof = FrameProofConfig{.onFault = *options.proof};
  const DefaultSignals endAtOnce;
  const bool failsOver = options.proof == FaultPolicy::FailOver;
  auto slots = options.staged ? StreamSlots::staged(slotConfig)
               : failsOver    ? StreamSlots::failingOver(slotConfig)
                              : StreamSlots::shared(slotConfig);
  if(!slots)
    return {.failure = allocationFailure(slots.error(), config.api, config.slotCount, streamConfigOptions)};
  noteUnusedGpu("stream", wanted.gpu, slots->application());
  return {.value = std::move(*slots)};
}

/// Slots that no CPU can address: only a copy engine moves frames into and out of them.
CopyingGpu copyingGpu(const RdmaGpuBuffer& buffer) {
  return buffer.backend() == RdmaGpuApi::HostFallback ? std::nullopt : buffer.facts().pci;
}

/// One for the program, and one for a peer that can use none of its own.
struct Queues {
  std::optional<CopyQueue> own;
  std::optional<CopyQueue> peers;
};

std::optional<Failure> makeQueues(const RdmaGpuBuffer& buffer, Queues& queues) {
  for(auto* const queue : {&queues.own, &queues.peers}) {
    auto made = CopyQueue::make(buffer);
    if(!made)
      return failureOf(made.error());
    queue->emplace(std::move(*made));
  }
  return {};
}

/// Whether frames can be pinned for the GPU shows with the first: if not they are moved all the same, slower.
std::optional<Failure> tryPinning(const StreamOptions& options, const PciAddress& gpu,
                                  std::size_t frameBytes) {
  const GpuPin pin = options.buffer.gpuPin == GpuPin::Require ? GpuPin::Require : GpuPin::Try;
  const auto frame = pinnedFrame(frameBytes, gpu, pin);
  if(!frame)
    return failureOf(frame.error(), streamConfigOptions);
  if(const Error& error = frame->facts().pinError; error.kind != Errc::None)
    printNote(fmt::format("stream: frames lie in memory that is not pinned for the GPU, which is slow: {}",
                          error.message()));
  return {};
}

Step<SoftwarePeer> makePeer(const StreamOptions& options, FrameRate rate, const StreamSlots& slots,
                            CopyQueue* queue) {
  const std::vector<PeerSlot> seen = slots.peerSlots();
  std::function<PeerSlot(std::uint32_t)> slotNow;
  if(options.proof == FaultPolicy::FailOver)
    slotNow = [&slots](std::uint32_t slot) { return slots.slotNow(slot); };
  auto peer = SoftwarePeer::make({.slots = seen,
                                  .rate = rate,
                                  .misbehaviour = options.peer.misbehaviour,
                                  .misbehaveAt = options.peer.misbehaveAt,
                                  .sliceBytes = slots.peerSliceBytes(),
                                  .copyThrough = queue,
                                  .slotNow = std::move(slotNow)});
  if(!peer)
    return {.failure = failureOf(peer.error())};
  return {.value = std::move(*peer)};
}

/// Whether a GPU can compare what lies in its memory. Trying has it compile its kernel before frames move.
bool canCheckInPlace(const StreamOptions& options, const RdmaGpuBuffer& buffer, const CopyingGpu& gpu) {
  const bool checks = options.check.kind != CheckMode::Kind::None && options.out.empty();
  return gpu && !options.playout && checks && buffer.checksum(0, buffer.facts().frameBytes);
}

Step<std::optional<FrameWriter>> openOutput(const StreamOptions& options, const FrameReader& reader) {
  if(options.out.empty())
    return {.value = std::optional<FrameWriter>()};
  auto writer = FrameWriter::open(options.out, reader.file(), &stopFlag());
  if(!writer)
    return {.failure = failureOf(writer.error())};
  return {.value = std::optional(std::move(*writer))};
}

Proof proofOf(const RdmaGpuBuffer& buffer, bool playout, const CheckCounts& check) {
  Proof proof = buffer.proof();
  if(check.checked == 0)
    return proof;
  (playout ? proof.read : proof.written) = check.mismatches == 0 ? Answer::Yes : Answer::No;
  proof.by = moverOf(buffer.facts());
  return proof;
}

/// Moves the frames and completes the report.
int moveFrames(const StreamOptions& options, StreamReport report, const StreamParts& parts) {
  StreamEnd end = options.playout ? runPlayout(parts) : runCapture(parts);
  if(parts.out) {
    if(const auto finished = parts.out->finish(); !finished && !end.failure)
      end.failure = failureOf(finished.error());
  }
  parts.slots.endProof();
  report.frameProof = parts.slots.proofCounters();
  report.failedOver = parts.slots.failedOver();
  report.proof = proofOf(parts.buffer, options.playout, parts.check.counts());
  report.totals = parts.tally.totals();
  report.latency = parts.tally.latency();
  report.check = parts.check.counts();
  report.ring = parts.ring.counters();
  report.nanoseconds = end.nanoseconds;
  report.interrupted = stopSignal() != 0;
  return conclude(options, report, std::move(end.failure));
}

int runStream(const StreamOptions& options) {
  if(options.v4l2)
    return runV4l2Stream(options);
  catchSignals();
  StreamReport report = emptyReport(options);
  if(!options.peer.present || options.peer.nic || !options.peer.block.empty() || !options.peer.cuFile.empty())
    return refuse(options, report, absentPeer("stream", options.peer, "software and v4l2:DEVICE"));
  auto reader = openInput(options);
  if(reader.failure)
    return refuse(options, report, *reader.failure);
  FrameReader& input = **reader.value;
  report.input = fmt::format("{} ({})", options.input, input.describe());
  const auto rate = paceOf(options, input);
  if(rate.failure)
    return refuse(options, report, *rate.failure);
  Queues queues; // outlive the ring, which asks whether their copies are done
  auto slots = allocate(options, input.frameBytes());
  if(slots.failure)
    return refuse(options, report, *slots.failure);
  const RdmaGpuBuffer& buffer = slots.value->application();
  SlotRing& ring = slots.value->ring();
  report.memory = buffer.facts();
  report.proof = buffer.proof();
  report.staging = slots.value->staging();
  const CopyingGpu gpu = copyingGpu(buffer);
  if(const auto failure = makeQueues(buffer, queues))
    return refuse(options, report, *failure);
  if(gpu) {
    if(const auto failure = tryPinning(options, *gpu, input.frameBytes()))
      return refuse(options, report, *failure);
  }
  auto peer = makePeer(options, *rate.value, *slots.value, gpu && !report.staging ? &*queues.peers : nullptr);
  if(peer.failure)
    return refuse(options, report, *peer.failure);
  auto out = openOutput(options, input);
  if(out.failure)
    return refuse(options, report, *out.failure);
  const bool checksInPlace = canCheckInPlace(options, buffer, gpu);
  const FrameHash hash = checksInPlace ? checksum : hashOf;
  const auto feed = makeFeed(options, input, ring, gpu, hash);
  if(feed.failure)
    return refuse(options, report, *feed.failure);
  FrameCheck check(**feed.value, options.check, options.buffer.slots, hash);
  Tally tally;
  return moveFrames(options, report,
                    {.buffer = buffer,
                     .queue = *queues.own,
                     .gpu = gpu,
                     .ring = ring,
                     .peer = *peer.value,
                     .feed = **feed.value,
                     .check = check,
                     .checksInPlace = checksInPlace,
                     .tally = tally,
                     .out = *out.value ? &**out.value : nullptr,
                     .stop = stopFlag(),
                     .slots = *slots.value});
}

} // namespace

Command addStream(CLI::App& program) {
  const auto options = std::make_shared<StreamOptions>();
  CLI::App* app = addStreamOptions(program, *options);
  return {app, [options] { return runStream(*options); }};
}

} // namespace rdmagpu::cli
