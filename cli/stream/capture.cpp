#include "stream/frame_memory.hpp"
#include "stream/live_line.hpp"
#include "stream/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace rdmagpu::cli {
namespace {

/// How long to wait for a frame before the stop flag, the terminal and the peer are looked at.
constexpr std::chrono::milliseconds lookAround{100};
/// Two that the copy engine works on, one behind them, and one being checked.
constexpr std::size_t framesFromGpu = 4;

/// A frame that is being read back. Its slot stays with us: a frame that is wrong is looked at again.
struct Taken {
  RingFrame frame{};
  std::span<std::byte> bytes{};
  Copy copy{};
};

class Consumer {
public:
  explicit Consumer(const StreamParts& parts) : m_parts(parts), m_bytes(parts.buffer.facts().frameBytes) {
    // The newest frame is worth nothing later.
    const bool several = parts.gpu && !checksInPlace() && parts.ring.policy() == RingPolicy::Fifo;
    for(std::size_t i = 0; i < (several ? framesFromGpu : 1); ++i)
      m_memory.emplace_back(m_bytes, parts.gpu);
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;
  ~Consumer() {
    for(const Taken& taken : m_taken)
      static_cast<void>(taken.copy.wait()); // nobody looks at the frame any more
  }

  std::optional<Failure> run() {
    while(!m_parts.stop.load()) {
      RingFrame frame;
      const RingStatus status = take(frame);
      m_live.update(m_parts.tally, m_parts.ring.counters().drops, "drops", m_parts.slots.proofCounters());
      if(status == RingStatus::Empty && m_taken.empty() && peerIsGone())
        return Failure{.kind = "PeerStopped",
                       .message = "the peer stopped without a word and left the stream open"};
      auto failure = status == RingStatus::Ok ? begin(frame)
                     : m_taken.empty()        ? std::nullopt
                                              : finishOldest();
      if(failure)
        return failure;
      if(status != RingStatus::Ok && status != RingStatus::Empty)
        return finishAll();
    }
    return finishAll();
  }

private:
  /// Waits only when there is nothing else to wait for.
  RingStatus take(RingFrame& frame) {
    m_parts.feed.expectTake();
    return m_taken.empty() ? m_parts.ring.take(frame, lookAround) : m_parts.ring.tryTake(frame);
  }

  /// Asked when there was no frame: whether the peer had ended before that was looked at.
  bool peerIsGone() { return std::exchange(m_peerFinished, m_parts.peer.counters().finished); }

  Result<Copy> read(const Taken& taken) {
    if(const auto flushed = m_parts.buffer.flushPeerWrites(); !flushed)
      return flushed.error();
    return m_parts.queue.download(taken.frame.slot, taken.bytes);
  }

  bool readAgain(const Taken& taken) {
    const auto copy = read(taken);
    return copy && copy->wait();
  }

  /// Of a frame that was published in part, the rest may still be on its way. False when it does not come,
  /// or is not waited for any more.
  bool awaitRest(const RingFrame& frame) {
    RingStatus status{};
    do
      status = m_parts.ring.waitBytes(frame.slot, frame.bytes, lookAround);
    while(status == RingStatus::Empty && !m_parts.stop.load());
    return status == RingStatus::Ok;
  }

  std::optional<Failure> begin(const RingFrame& frame) {
    if(!awaitRest(frame)) {
      if(m_parts.stop.load())
        return {};
      return Failure{.kind = "PeerStopped",
                     .message = fmt::format("frame {} ended before all of it had come", frame.sequence)};
    }
    if(!m_parts.out && !m_parts.check.checks(frame.sequence))
      return pass(frame);
    if(checksInPlace())
      return checkInPlace(frame);
    if(m_taken.size() == m_memory.size()) {
      if(auto failure = finishOldest())
        return failure;
    }
    std::byte* const memory = m_memory[m_begun++ % m_memory.size()].data();
    Taken taken{.frame = frame, .bytes = {memory, std::min(frame.bytes, m_bytes)}};
    auto copy = read(taken);
    if(!copy)
      return failureOf(copy.error());
    taken.copy = *std::move(copy);
    m_taken.push_back(std::move(taken));
    return m_memory.size() == 1 ? finishOldest() : std::nullopt;
  }

  bool checksInPlace() const noexcept { return m_parts.checksInPlace && !m_parts.out; }

  std::optional<Failure> checkInPlace(const RingFrame& frame) {
    const Taken taken{.frame = frame, .bytes = {m_memory.front().data(), std::min(frame.bytes, m_bytes)}};
    if(const auto flushed = m_parts.buffer.flushPeerWrites(); !flushed)
      return failureOf(flushed.error());
    const auto sum = m_parts.buffer.checksum(frame.slot, taken.bytes.size());
    if(!sum)
      return failureOf(sum.error());
    m_parts.tally.add(frame.bytes, frame.timestamp);
    m_parts.check.checkHash(frame.sequence, frame.slot, *sum, taken.bytes, [&] { return readAgain(taken); });
    m_parts.ring.release(frame.slot);
    return {};
  }

  /// A frame that nobody looks at.
  std::optional<Failure> pass(const RingFrame& frame) {
    if(auto failure = finishAll()) // they are checked in order
      return failure;
    m_parts.tally.add(frame.bytes, frame.timestamp);
    m_parts.check.check(frame.sequence, frame.slot, {}, {});
    m_parts.ring.release(frame.slot);
    return {};
  }

  std::optional<Failure> finishOldest() {
    const Taken taken = std::move(m_taken.front());
    m_taken.pop_front();
    if(const auto done = taken.copy.wait(); !done)
      return failureOf(done.error());
    const RingFrame& frame = taken.frame;
    m_parts.tally.add(frame.bytes, frame.timestamp);
    m_parts.check.check(frame.sequence, frame.slot, taken.bytes, [&] { return readAgain(taken); });
    m_parts.ring.release(frame.slot);
    if(!m_parts.out)
      return {};
    if(const auto written = m_parts.out->write(taken.bytes);
       !written && written.error().kind != InputErrorKind::Interrupted)
      return failureOf(written.error());
    return {};
  }

  std::optional<Failure> finishAll() {
    while(!m_taken.empty()) {
      if(auto failure = finishOldest())
        return failure;
    }
    return {};
  }

  const StreamParts& m_parts;
  const std::size_t m_bytes;
  std::vector<FrameMemory> m_memory;
  std::uint64_t m_begun{};
  std::deque<Taken> m_taken; ///< In order, no more than there is memory for.
  bool m_peerFinished{};
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
  // Copies that failed are why frames ended early.
  const bool copiesFailed = parts.slots.copyError().kind != Errc::None;
  if(!end.failure || copiesFailed)
    end.failure = failureBehind(parts);
  return end;
}

} // namespace rdmagpu::cli
