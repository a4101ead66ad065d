#include "stream/live_line.hpp"
#include "stream/run.hpp"

#include "stream/frame_memory.hpp"

#include <algorithm>
#include <chrono>
#include <span>

namespace rdmagpu::cli {
namespace {

/// How long to wait for a frame before the stop flag, the terminal and the peer are looked at.
constexpr std::chrono::milliseconds lookAround{100};

class Consumer {
public:
  explicit Consumer(const StreamParts& parts)
      : m_parts(parts), m_bytes(parts.buffer.facts().frameBytes), m_memory(m_bytes) {}

  std::optional<Failure> run() {
    while(!m_parts.stop.load()) {
      m_parts.feed.expectTake();
      RingFrame frame;
      const RingStatus status = m_parts.ring.take(frame, lookAround);
      m_live.update(m_parts.tally, m_parts.ring.counters().drops, "drops");
      if(status == RingStatus::Empty && peerIsGone())
        return Failure{.kind = "PeerStopped",
                       .message = "the peer stopped without a word and left the stream open"};
      if(status == RingStatus::Empty)
        continue;
      if(status != RingStatus::Ok)
        return {};
      if(auto failure = consume(frame))
        return failure;
    }
    return {};
  }

private:
  bool peerIsGone() {
    const RingCounters counters = m_parts.ring.counters();
    return m_parts.peer.counters().finished && counters.published == counters.taken;
  }

  std::span<std::byte> memoryFor(const RingFrame& frame) const noexcept {
    return {m_memory.data(), std::min(frame.bytes, m_bytes)};
  }

  Result<void> readBack(const RingFrame& frame) const {
    if(const auto flushed = m_parts.buffer.flushPeerWrites(); !flushed)
      return flushed;
    return m_parts.buffer.download(frame.slot, memoryFor(frame));
  }

  std::optional<Failure> consume(const RingFrame& frame) {
    if(const auto read = readBack(frame); !read)
      return failureOf(read.error());
    m_parts.tally.add(frame.bytes, frame.timestamp);
    m_parts.check.check(frame.sequence, frame.slot, memoryFor(frame),
                        [&] { return readBack(frame).has_value(); });
    m_parts.ring.release(frame.slot);
    if(!m_parts.out)
      return {};
    if(const auto written = m_parts.out->write(memoryFor(frame));
       !written && written.error().kind != InputErrorKind::Interrupted)
      return failureOf(written.error());
    return {};
  }

  const StreamParts& m_parts;
  const std::size_t m_bytes;
  FrameMemory m_memory;
  LiveLine m_live;
};

} // namespace

StreamEnd runCapture(const StreamParts& parts) {
  Consumer consumer(parts);
  const std::int64_t start = steadyNow();
  if(const auto started = parts.peer.startCapture(parts.ring, parts.feed); !started)
    return {.failure = failureOf(started.error())};
  StreamEnd end{.failure = consumer.run()};
  end.nanoseconds = std::max<std::int64_t>(parts.tally.totals().lastAt - start, 0);
  parts.ring.closeConsumer();
  if(end.failure)
    parts.stop.store(true); // the feed may be waiting for its input
  parts.peer.stop();
  if(!end.failure)
    end.failure = failureBehind(parts);
  return end;
}

} // namespace rdmagpu::cli
