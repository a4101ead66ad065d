#include "stream/live_line.hpp"
#include "stream/publish_times.hpp"
#include "stream/run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <thread>

namespace rdmagpu::cli {
namespace {

/// How long to wait for a slot or a frame before the stop flag, the terminal and the peer are looked at.
constexpr std::chrono::milliseconds lookAround{100};

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

/// A frame that was published, and whose copy may be under way.
struct Begun {
  std::uint64_t sequence{};
  Copy copy{};
};

class Producer {
public:
  Producer(const StreamParts& parts, PublishTimes& times, CheckingSink& sink)
      : m_parts(parts), m_times(times), m_sink(sink) {}
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  ~Producer() { settleAll(); } // the feed's memory may go

  /// Returns once every frame was published, or no more are wanted.
  std::optional<Failure> run() {
    const std::uint64_t kept = m_parts.feed.framesKept();
    for(std::uint64_t sequence = 0; awaitFrame(); ++sequence) {
      if(sequence > kept && !settleBefore(sequence - kept))
        break;
      const std::span<const std::byte> frame = m_parts.feed.next();
      // The peer's clock starts with its first frame, and then there should be no lack of them.
      if(frame.empty() || (sequence == m_parts.ring.slotCount() && !startPeer()))
        break;
      std::uint32_t slot{};
      if(!awaitSlot(slot))
        break;
      const auto put = m_parts.queue.upload(slot, frame);
      if(!put)
        return failureOf(put.error());
      m_begun.push_back({sequence, *put});
      const std::int64_t now = steadyNow();
      m_times.set(sequence, now);
      m_parts.ring.publish(slot, now, frame.size(), put->completion());
    }
    if(!m_failure && !m_started && !m_parts.stop.load())
      startPeer();
    settleAll();
    return m_failure;
  }

  void awaitPeer() {
    constexpr std::chrono::milliseconds between{2};
    while(m_started && !m_parts.stop.load() && !m_parts.peer.counters().finished) {
      std::this_thread::sleep_for(between);
      showProgress();
    }
  }

  /// The peer came to its end before the input did.
  bool peerLeft() const noexcept { return m_peerLeft; }

private:
  bool startPeer() {
    m_sink.peerStarts();
    const auto started = m_parts.peer.startPlayout(m_parts.ring, m_sink);
    if(!started)
      m_failure = failureOf(started.error());
    m_started = started.has_value();
    return m_started;
  }

  bool goOn() {
    showProgress();
    m_peerLeft = m_started && m_parts.peer.counters().finished;
    return !m_parts.stop.load() && !m_peerLeft;
  }

  /// False when no more frames are wanted.
  bool awaitFrame() {
    constexpr std::chrono::milliseconds now{0};
    while(goOn()) {
      if(m_parts.feed.ready(m_begun.empty() ? lookAround : now))
        return true;
      if(!settleAll())
        return false;
    }
    return false;
  }

  /// Waits for the oldest copy, and tells the ring, which itself asks seldom.
  bool settleOldest() {
    const auto done = m_begun.front().copy.wait();
    m_begun.pop_front();
    if(m_parts.gpu)
      m_parts.ring.notify();
    if(!done && !m_failure)
      m_failure = failureOf(done.error());
    return done.has_value();
  }

  bool settleBefore(std::uint64_t sequence) {
    bool good = true;
    while(!m_begun.empty() && m_begun.front().sequence < sequence)
      good = settleOldest() && good;
    return good;
  }

  bool settleAll() { return settleBefore(std::numeric_limits<std::uint64_t>::max()); }

  /// The peer can give back only what it has got.
  RingStatus acquire(std::uint32_t& slot) {
    RingStatus status = m_parts.ring.tryAcquire(slot);
    while(status == RingStatus::Empty && !m_begun.empty()) {
      if(!settleOldest())
        return RingStatus::Closed;
      status = m_parts.ring.tryAcquire(slot);
    }
    return status == RingStatus::Empty ? m_parts.ring.acquire(slot, lookAround) : status;
  }

  bool awaitSlot(std::uint32_t& slot) {
    while(goOn()) {
      switch(acquire(slot)) {
      case RingStatus::Ok:
        return true;
      case RingStatus::Empty:
        continue;
      case RingStatus::Closed:
      case RingStatus::Misuse:
      case RingStatus::Faulty:
        m_peerLeft = true;
        return false;
      }
    }
    return false;
  }

  void showProgress() { m_live.update(m_parts.tally, m_parts.ring.counters().underruns, "underruns"); }

  const StreamParts& m_parts;
  PublishTimes& m_times;
  CheckingSink& m_sink;
  LiveLine m_live;
  bool m_started{};
  bool m_peerLeft{};
  std::optional<Failure> m_failure;
  std::deque<Begun> m_begun; ///< In order.
};

/// Published frames that nobody has taken.
bool framesAreLeft(const SlotRing& ring) {
  const RingCounters counters = ring.counters();
  return counters.taken + counters.drops < counters.published;
}

} // namespace

StreamEnd runPlayout(const StreamParts& parts) {
  const auto times = std::make_unique<PublishTimes>();
  CheckingSink sink(parts, *times);
  Producer producer(parts, *times, sink);
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
