#include "stream_input.hpp"

#include "interrupt.hpp"
#include "stream/frame_sequence.hpp"
#include "stream/preloaded_feed.hpp"
#include "stream/read_ahead_feed.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>

#include <fmt/core.h>

#include <system_error>
#include <utility>

namespace rdmagpu::cli {
namespace {

/// How many frames fit the memory that is free once the slots are there.
std::uint64_t roomToPreload(std::size_t frameBytes) {
  RdmaGpuBufferConfig config;
  config.api = RdmaGpuApi::HostFallback;
  config.frameBytes = frameBytes;
  const auto room = RdmaGpuBuffer::maxSlots(config);
  return room ? *room : endless;
}

} // namespace

Step<std::unique_ptr<FrameReader>> openInput(const StreamOptions& options) {
  auto reader = openFrames(options.input, {.pixelFormat = options.pixelFormat,
                                           .size = options.size,
                                           .bytes = options.bytes,
                                           .stop = &stopFlag()});
  if(!reader && reader.error().kind == InputErrorKind::BadValue)
    return {.failure = usageFailure("stream", reader.error().message)};
  if(!reader)
    return {.failure = failureOf(reader.error())};
  // Better now than after the first round.
  if(options.rounds > 1 && !options.preload && !(*reader)->file())
    return {.failure = Failure{.kind = "Unsupported",
                               .message = "--loop: the input cannot be started again, being no regular file",
                               .hints = {"Pass --preload too: then the frames are kept in memory."}}};
  return {.value = std::move(*reader)};
}

Step<FrameRate> paceOf(const StreamOptions& options, const FrameReader& reader) {
  if(!options.rateOfInput)
    return {.value =
                options.rate ? FrameRate{options.rate->numerator, options.rate->denominator} : FrameRate{}};
  const auto rate = reader.rate();
  if(!rate)
    return {.failure = Failure{.kind = "Unsupported",
                               .message = fmt::format("--rate input: {} ({}) does not say its rate",
                                                      options.input, reader.describe()),
                               .hints = {"Name the rate: --rate 59.94."}}};
  return {.value = FrameRate{rate->numerator, rate->denominator}};
}

Step<std::unique_ptr<FrameFeed>> makeFeed(const StreamOptions& options, FrameReader& reader,
                                          const SlotRing& ring, const CopyingGpu& gpu, FrameHash hash) {
  if(!options.preload) {
    try {
      return {.value = std::make_unique<ReadAheadFeed>(FrameSequence(reader, options.rounds, options.frames),
                                                       options.check, ring, stopFlag(), gpu, hash)};
    } catch(const std::system_error& refused) {
      return {.failure = Failure{.kind = "OutOfMemory",
                                 .message = fmt::format("no thread can be started to read with: {}",
                                                        refused.code().message()),
                                 .hints = {"Raise the limit on processes and threads: 'ulimit -u'."}}};
    }
  }
  auto feed = PreloadedFeed::load(reader, options.check, options.rounds, options.frames,
                                  roomToPreload(reader.frameBytes()), gpu, hash);
  if(!feed)
    return {.failure = failureOf(feed.error())};
  return {.value = std::move(*feed)};
}

} // namespace rdmagpu::cli
