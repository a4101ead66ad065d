#include "stream/v4l2_capture.hpp"

#include "frames/picture_size.hpp"
#include "stream/frame_memory.hpp"
#include "stream/live_line.hpp"

#include <rdmagpu/copy_queue.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace rdmagpu::cli {
namespace {

/// How long to wait for a frame before the stop flag and the terminal are looked at.
constexpr std::chrono::milliseconds lookAround{100};

class Consumer {
public:
  Consumer(const V4l2Capture& capture, CopyQueue& queue)
      : m_capture(capture),
        m_staged(*capture.peer.buffer()),
        m_queue(queue),
        m_memory(capture.out ? m_staged.facts().application.frameBytes : 0, gpu(m_staged)) {}

  std::optional<Failure> run() {
    while(!m_capture.stop.load() && m_tally.totals().frames < m_capture.frames) {
      RingFrame frame;
      const RingStatus status = m_staged.ring().take(frame, lookAround);
      m_live.update(m_tally, m_staged.ring().counters().drops, "drops", m_staged.proofCounters());
      if(status == RingStatus::Empty)
        continue;
      if(status != RingStatus::Ok)
        return {};
      if(auto failure = use(frame))
        return failure;
    }
    return {};
  }
  const Tally& tally() const noexcept { return m_tally; }

private:
  static CopyingGpu gpu(const StagedBuffer& staged) {
    const BufferFacts& facts = staged.facts().application;
    return facts.api == RdmaGpuApi::HostFallback ? std::nullopt : facts.pci;
  }

  std::optional<Failure> use(const RingFrame& frame) {
    if(!m_capture.out) {
      m_tally.add(frame.bytes, frame.timestamp);
      m_staged.ring().release(frame.slot);
      return {};
    }
    const std::span<std::byte> bytes{m_memory.data(), frame.bytes};
    const auto copy = m_queue.download(frame.slot, bytes);
    if(!copy)
      return failureOf(copy.error());
    if(const auto copied = copy->wait(); !copied)
      return failureOf(copied.error());
    m_tally.add(frame.bytes, frame.timestamp);
    m_staged.ring().release(frame.slot);
    if(const auto written = m_capture.out->write(bytes);
       !written && written.error().kind != InputErrorKind::Interrupted)
      return failureOf(written.error());
    return {};
  }

  const V4l2Capture& m_capture;
  StagedBuffer& m_staged;
  CopyQueue& m_queue;
  FrameMemory m_memory;
  Tally m_tally;
  LiveLine m_live;
};

std::optional<Failure> failureBehind(const V4l2Capture& capture) {
  if(const Error error = capture.peer.buffer()->error(); error.kind != Errc::None)
    return failureOf(error);
  if(const Error error = capture.peer.counters().error; error.kind != Errc::None)
    return failureOf(error);
  return {};
}

} // namespace

std::optional<Failure> runV4l2Capture(const V4l2Capture& capture, StreamReport& report) {
  StagedBuffer& staged = *capture.peer.buffer();
  auto queue = CopyQueue::make(staged.applicationBuffer());
  if(!queue)
    return failureOf(queue.error());
  Consumer consumer(capture, *queue);
  const std::int64_t start = steadyNow();
  auto failure = consumer.run();
  capture.peer.stop();
  if(!failure)
    failure = failureBehind(capture);
  staged.close();
  report.totals = consumer.tally().totals();
  report.latency = consumer.tally().latency();
  report.nanoseconds = std::max<std::int64_t>(report.totals.lastAt - start, 0);
  report.ring = staged.ring().counters();
  report.frameProof = staged.proofCounters();
  report.failedOver = staged.path() != staged.facts().path;
  const peers::V4l2Counters counters = capture.peer.counters();
  report.device->lost = counters.lost;
  report.device->faulty = counters.faulty;
  report.device->timeouts = counters.timeouts;
  return failure;
}

Failure v4l2Failure(const Error& error) {
  Failure failure = failureOf(error);
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

} // namespace rdmagpu::cli
