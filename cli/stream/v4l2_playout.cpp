#include "stream/v4l2_playout.hpp"

#include "stream/frame_memory.hpp"
#include "stream/frame_producer.hpp"
#include "stream/v4l2_report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rdmagpu::cli {
namespace {

/// The device, which starts by itself when its slots are full, and counts what it has sent.
class SendingDevice final : public TakingPeer {
public:
  SendingDevice(peers::V4l2Peer& peer, Tally& tally) : m_peer(peer), m_tally(tally) {}

  std::optional<Failure> start() override {
    m_startedAt = steadyNow();
    return {};
  }
  bool finished() override {
    const peers::V4l2Counters counters = m_peer.counters();
    for(; m_sent < counters.frames; ++m_sent)
      m_tally.add(m_peer.frameBytes(), {});
    return counters.finished;
  }
  std::int64_t startedAt() const noexcept { return m_startedAt; }

private:
  peers::V4l2Peer& m_peer;
  Tally& m_tally;
  std::uint64_t m_sent{};
  std::int64_t m_startedAt{};
};

bool onGpu(const StagedBuffer& staged) { return staged.facts().application.api != RdmaGpuApi::HostFallback; }

} // namespace

std::optional<Failure> runV4l2Playout(const V4l2Playout& playout, StreamReport& report) {
  StagedBuffer& staged = *playout.peer.buffer();
  Tally tally;
  SendingDevice device(playout.peer, tally);
  std::optional<Failure> failure;
  bool left = false;
  {
    FrameProducer producer({.feed = playout.feed,
                            .queue = playout.queue,
                            .onGpu = onGpu(staged),
                            .ring = staged.ring(),
                            .tally = tally,
                            .stop = playout.stop},
                           device);
    failure = producer.run();
    staged.ring().closeProducer();
    if(!failure)
      producer.awaitPeer();
    left = producer.peerLeft();
  }
  playout.peer.stop();
  device.finished(); // counts what was sent last
  if(const auto unread = playout.feed.failure();
     !failure && unread && unread->kind != InputErrorKind::Interrupted)
    failure = failureOf(*unread);
  if(!failure)
    failure = failureBehind(playout.peer);
  if(!failure && !playout.stop.load() && (left || framesAreLeft(staged.ring())))
    failure = Failure{.kind = "PeerStopped", .message = "the device stopped without a word"};
  staged.close();
  report.totals = tally.totals();
  report.nanoseconds = std::max<std::int64_t>(report.totals.lastAt - device.startedAt(), 0);
  report.ring = staged.ring().counters();
  report.failedOver = staged.path() != staged.facts().path;
  addCounters(*report.device, playout.peer);
  return failure;
}

} // namespace rdmagpu::cli
