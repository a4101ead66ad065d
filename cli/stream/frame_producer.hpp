#pragma once
#include "failure.hpp"
#include "stream/frame_feed.hpp"
#include "stream/live_line.hpp"
#include "stream/tally.hpp"

#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/slot_ring.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

namespace rdmagpu::cli {

/// A peer that takes frames out of a ring, as the producer of the frames sees it.
class TakingPeer {
public:
  virtual ~TakingPeer() = default;
  /// Asked once, when every slot has a frame, or the input is at its end.
  virtual std::optional<Failure> start() = 0;
  virtual bool finished() = 0;
  /// A frame was made available then.
  virtual void published(std::uint64_t /*sequence*/, std::int64_t /*at*/) {}
};

/// Uploads a feed's frames into the slots of a ring. All of it is borrowed.
class FrameProducer {
public:
  struct Parts {
    FrameFeed& feed;
    CopyQueue& queue;
    bool onGpu{}; ///< Copies go on by themselves.
    SlotRing& ring;
    const Tally& tally;
    std::atomic<bool>& stop;
  };
  FrameProducer(const Parts& parts, TakingPeer& peer) : m_parts(parts), m_peer(peer) {}
  FrameProducer(const FrameProducer&) = delete;
  FrameProducer& operator=(const FrameProducer&) = delete;
  ~FrameProducer() { settleAll(); } // the feed's memory may go

  /// Returns once every frame was published, or no more are wanted.
  std::optional<Failure> run();
  /// Until the peer is at its end. For when the ring's producer side is closed.
  void awaitPeer();
  /// The peer came to its end before the input did.
  bool peerLeft() const noexcept { return m_peerLeft; }

private:
  /// A frame that was published, and whose copy may be under way.
  struct Begun {
    std::uint64_t sequence{};
    Copy copy{};
  };

  bool startPeer();
  bool goOn();
  bool awaitFrame();
  bool settleOldest();
  bool settleBefore(std::uint64_t sequence);
  bool settleAll();
  RingStatus acquire(std::uint32_t& slot);
  bool awaitSlot(std::uint32_t& slot);
  void showProgress();

  const Parts m_parts;
  TakingPeer& m_peer;
  LiveLine m_live;
  bool m_started{};
  bool m_peerLeft{};
  std::optional<Failure> m_failure;
  std::deque<Begun> m_begun; ///< In order.
};

/// Published frames that nobody has taken.
bool framesAreLeft(const SlotRing& ring);

} // namespace rdmagpu::cli
