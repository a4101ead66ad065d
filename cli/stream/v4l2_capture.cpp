#include "stream/v4l2_capture.hpp"

#include "stream/frame_memory.hpp"
#include "stream/live_line.hpp"
#include "stream/v4l2_report.hpp"

#include <rdmagpu/copy_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

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
    failure = failureBehind(capture.peer);
  staged.close();
  report.totals = consumer.tally().totals();
  report.latency = consumer.tally().latency();
  report.nanoseconds = std::max<std::int64_t>(report.totals.lastAt - start, 0);
  report.ring = staged.ring().counters();
  report.frameProof = staged.proofCounters();
  report.failedOver = staged.path() != staged.facts().path;
  addCounters(*report.device, capture.peer);
  return failure;
}

} // namespace rdmagpu::cli
