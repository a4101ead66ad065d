#include "stream/frame_producer.hpp"
#include "stream/publish_times.hpp"
#include "stream/run.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace rdmagpu::cli {
namespace {

/// Where the peer's frames go: checked and written out on its thread.
class CheckingSink final : public FrameSink {
public:
  CheckingSink(const StreamParts& parts, const PublishTimes& times) : m_parts(parts), m_times(times) {
    m_parts.feed.expectTake();
  }

  /// Before the peer's thread is.
  void peerStarts() noexcept { m_startedAt = steadyNow(); }
  std::int64_t startedAt() const noexcept { return m_startedAt; }

  bool frame(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes) override {
    m_parts.tally.add(bytes.size(), availableAt(sequence));
    m_parts.check.check(sequence, slot, bytes, {});
    if(m_parts.out) {
      const auto written = m_parts.out->write(bytes);
      if(!written && written.error().kind != InputErrorKind::Interrupted)
        m_failure = failureOf(written.error());
    }
    m_parts.feed.expectTake();
    return !m_failure;
  }

  /// For when the peer is at its end.
  const std::optional<Failure>& failure() const noexcept { return m_failure; }

private:
  /// The frames that fill the slots before the peer starts would otherwise wait longer than it all takes.
  std::optional<std::int64_t> availableAt(std::uint64_t sequence) const noexcept {
    const auto published = m_times.get(sequence);
    return published ? std::optional(std::max(*published, m_startedAt)) : std::nullopt;
  }

  const StreamParts& m_parts;
  const PublishTimes& m_times;
  std::int64_t m_startedAt{};
  std::optional<Failure> m_failure;
};

/// The peer in software.
class SinkPeer final : public TakingPeer {
public:
  SinkPeer(const StreamParts& parts, PublishTimes& times, CheckingSink& sink)
      : m_parts(parts), m_times(times), m_sink(sink) {}

  std::optional<Failure> start() override {
    m_sink.peerStarts();
    const auto started = m_parts.peer.startPlayout(m_parts.ring, m_sink);
    return started ? std::nullopt : std::optional(failureOf(started.error()));
  }
  bool finished() override { return m_parts.peer.counters().finished; }
  void published(std::uint64_t sequence, std::int64_t at) override { m_times.set(sequence, at); }

private:
  const StreamParts& m_parts;
  PublishTimes& m_times;
  CheckingSink& m_sink;
};

} // namespace

StreamEnd runPlayout(const StreamParts& parts) {
  const auto times = std::make_unique<PublishTimes>();
  CheckingSink sink(parts, *times);
  SinkPeer peer(parts, *times, sink);
  FrameProducer producer({.feed = parts.feed,
                          .queue = parts.queue,
                          .onGpu = parts.gpu.has_value(),
                          .ring = parts.ring,
                          .tally = parts.tally,
                          .stop = parts.stop},
                         peer);
  StreamEnd end{.failure = producer.run()};
  parts.ring.closeProducer();
  if(!end.failure)
    producer.awaitPeer();
  parts.peer.stop();
  end.nanoseconds = std::max<std::int64_t>(parts.tally.totals().lastAt - sink.startedAt(), 0);
  if(!end.failure)
    end.failure = sink.failure();
  if(!end.failure)
    end.failure = failureBehind(parts);
  if(!end.failure && !parts.stop.load() && (producer.peerLeft() || framesAreLeft(parts.ring)))
    end.failure = Failure{.kind = "PeerStopped", .message = "the peer stopped without a word"};
  return end;
}

} // namespace rdmagpu::cli
