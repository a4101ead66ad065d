#pragma once
#include <base/library_error.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <support/semaphore.hpp>

#include <core/slot_ring_fixture.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace rdmagpu::peertest {

using ringtest::ample;
using ringtest::makeRing;
using ringtest::taken;
using ringtest::takeStatus;
using Bytes = std::vector<std::byte>;

inline void expectCode(const Error& error, LibraryCode code) {
  EXPECT_EQ(error.origin, Origin::Library);
  EXPECT_EQ(error.code, static_cast<std::int64_t>(code)) << error.message();
}

inline RdmaGpuBuffer hostBuffer(std::uint32_t slots, std::size_t frameBytes) {
  auto buffer = RdmaGpuBuffer::make({.api = RdmaGpuApi::HostFallback,
                                     .slotCount = slots,
                                     .frameBytes = frameBytes,
                                     .host = {.lock = PageLock::Off}});
  EXPECT_TRUE(buffer) << buffer.error().message();
  return *std::move(buffer);
}

inline std::vector<PeerSlot> slotsOf(const RdmaGpuBuffer& buffer) {
  std::vector<PeerSlot> slots;
  for(std::size_t i = 0; i < buffer.slotCount(); ++i)
    slots.push_back({buffer.handoff(i), buffer.slot(i).size});
  return slots;
}

inline SoftwarePeer makePeer(const RdmaGpuBuffer& buffer, SoftwarePeerConfig config = {}) {
  const auto slots = slotsOf(buffer);
  config.slots = slots;
  auto peer = SoftwarePeer::make(config);
  EXPECT_TRUE(peer) << peer.error().message();
  return *std::move(peer);
}

/// Never 0, what fresh slots hold. Large ones are made by copying, as tests are not optimised.
inline Bytes frameOf(std::uint64_t n, std::size_t bytes) {
  constexpr std::size_t period = 255;
  Bytes frame(bytes);
  std::size_t made = std::min(bytes, period);
  for(std::size_t i = 0; i < made; ++i)
    frame[i] = static_cast<std::byte>(1 + (n * 131 + i * 7) % period);
  while(made != bytes) {
    const std::size_t more = std::min(made, bytes - made);
    std::memcpy(frame.data() + made, frame.data(), more);
    made += more;
  }
  return frame;
}

inline Bytes inSlot(const RdmaGpuBuffer& buffer, std::uint32_t slot, std::size_t bytes,
                    std::size_t offset = 0) {
  Bytes found(bytes);
  const auto downloaded = buffer.download(slot, found, offset);
  EXPECT_TRUE(downloaded) << downloaded.error().message();
  return found;
}

inline Bytes part(const Bytes& bytes, std::size_t from, std::size_t to) {
  return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from),
               bytes.begin() + static_cast<std::ptrdiff_t>(to));
}

/// `count` frames of frameOf(); `before` runs ahead of each, and of the end.
class Frames final : public FrameSource {
public:
  Frames(std::uint64_t count, std::size_t bytes, std::function<void(std::uint64_t)> before = {})
      : m_count(count), m_bytes(bytes), m_before(std::move(before)) {}
  std::span<const std::byte> next() override {
    if(m_before)
      m_before(m_next);
    if(m_next == m_count)
      return {};
    m_frame = frameOf(m_next++, m_bytes);
    return m_frame;
  }

private:
  std::uint64_t m_count;
  std::size_t m_bytes;
  std::function<void(std::uint64_t)> m_before;
  std::uint64_t m_next{};
  Bytes m_frame;
};

constexpr std::uint64_t endless = ~std::uint64_t{0};

/// Keeps what it is given; read it once the peer is joined.
class Collector final : public FrameSink {
public:
  struct Got {
    std::uint64_t sequence;
    std::uint32_t slot;
    Bytes bytes;
  };
  explicit Collector(std::function<bool()> more = {}) : m_more(std::move(more)) {}
  bool frame(std::uint64_t sequence, std::uint32_t slot, std::span<const std::byte> bytes) override {
    got.push_back({sequence, slot, Bytes(bytes.begin(), bytes.end())});
    return !m_more || m_more();
  }
  std::vector<Got> got;

private:
  std::function<bool()> m_more;
};

inline RingFrame takeNext(SlotRing& ring) {
  RingFrame frame;
  EXPECT_EQ(ring.take(frame, ample), RingStatus::Ok);
  return frame;
}

/// The producer's part: fills the next slot with frameOf(n) and publishes it.
inline std::uint32_t produce(SlotRing& ring, const RdmaGpuBuffer& buffer, std::uint64_t n,
                             std::size_t bytes) {
  std::uint32_t slot{};
  EXPECT_EQ(ring.acquire(slot, ample), RingStatus::Ok);
  EXPECT_TRUE(buffer.upload(slot, frameOf(n, bytes)));
  EXPECT_EQ(ring.publish(slot, 0, bytes), RingStatus::Ok);
  return slot;
}

template <class Condition>
void waitUntil(Condition condition) {
  while(!condition())
    std::this_thread::yield();
}

} // namespace rdmagpu::peertest
