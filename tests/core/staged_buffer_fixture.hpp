#pragma once
#include <core/software_peer_fixture.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <optional>

namespace rdmagpu::stagedtest {

using namespace peertest;
using ringtest::acquired;

constexpr std::size_t frameBytes = 100'001; // neither pages nor slices fit it

inline StagedBufferConfig hostConfig(std::optional<SlotPath> path, SlotFlow flow = SlotFlow::Capture) {
  return {.buffer = {.api = RdmaGpuApi::HostFallback,
                     .slotCount = 3,
                     .frameBytes = frameBytes,
                     .host = {.lock = PageLock::Off}},
          .flow = flow,
          .path = path,
          .sliceBytes = 8192};
}

inline StagedBuffer makeStaged(const StagedBufferConfig& config) {
  auto made = StagedBuffer::make(config);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

inline std::span<std::byte> peerSlot(const StagedBuffer& staged, std::uint32_t slot) {
  return {static_cast<std::byte*>(cpuAddress(staged.handoff(slot))), staged.peerBuffer().slot(slot).size};
}

/// The peer's part in capture: fills [from, to) of frame `n`.
inline void fill(const StagedBuffer& staged, std::uint32_t slot, std::uint64_t n, std::size_t from,
                 std::size_t to) {
  const Bytes bytes = part(frameOf(n, frameBytes), from, to);
  if(cpuAddress(staged.handoff(slot))) {
    std::memcpy(peerSlot(staged, slot).data() + from, bytes.data(), bytes.size());
    return;
  }
  const auto written = staged.applicationBuffer().upload(slot, bytes, from); // a GPU's
  EXPECT_TRUE(written) << written.error().message();
}

inline std::uint32_t acquireNext(SlotRing& ring) {
  std::uint32_t slot{};
  EXPECT_EQ(ring.acquire(slot, ample), RingStatus::Ok);
  return slot;
}

/// The peer's part in capture: frame `n`, whole.
inline std::uint32_t capture(StagedBuffer& staged, std::uint64_t n) {
  const std::uint32_t slot = acquireNext(staged.ring());
  fill(staged, slot, n, 0, frameBytes);
  EXPECT_EQ(staged.ring().publish(slot, static_cast<std::int64_t>(n), frameBytes), RingStatus::Ok);
  return slot;
}

inline Bytes inApplication(const StagedBuffer& staged, const RingFrame& frame) {
  return inSlot(staged.applicationBuffer(), frame.slot, frame.bytes);
}

} // namespace rdmagpu::stagedtest
