#pragma once
#include "failure.hpp"
#include "json.hpp"
#include "latency.hpp"
#include "stream/frame_check.hpp"
#include "stream/tally.hpp"

#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmagpu::cli {

/// A device that makes the frames.
struct DeviceReport {
  std::string format; ///< Its four letters.
  std::uint32_t width{};
  std::uint32_t height{};
  std::uint32_t bytesPerLine{};
  std::uint32_t frameBytes{};
  FrameRate rate{};     ///< 0 where the device does not say.
  std::string memory;   ///< How it has the slots.
  Error memoryReason{}; ///< Why not as dma-bufs; kind None when it has, or was not to.
  Error fallback{};     ///< Why it has not the program's slots; kind None when it has, or was not to.
  std::uint64_t lost{}; ///< By the device. They are drops, too.
  std::uint64_t faulty{};
  std::uint64_t timeouts{};
};

/// What `stream` has to say at its end, however it came to it.
struct StreamReport {
  std::string input; ///< The file's name and, once it was opened, what it holds.
  std::string peer;
  bool playout{};
  RingPolicy policy{};
  std::optional<FaultPolicy> onFault{};       ///< Empty: frames are not proven.
  std::optional<BufferFacts> memory{};        ///< The program's. Empty: it ended before there was any.
  std::optional<StagedBufferFacts> staging{}; ///< Empty: the peer uses the program's slots.
  Proof proof{};
  Tally::Totals totals{};
  LatencyHistogram latency{};
  CheckCounts check{};
  std::optional<FrameProofCounters> frameProof{}; ///< Empty: not proven, or not begun.
  bool failedOver{};                              ///< The peer got slots of its own on the way.
  RingCounters ring{};
  std::int64_t nanoseconds{};
  bool interrupted{};
  std::optional<DeviceReport> device{}; ///< Empty: the frames are the input's.

  double bytesPerSecond() const noexcept;
  double framesPerSecond() const noexcept;
};

std::string reportText(const StreamReport& report);
Json toJson(const StreamReport& report);

/// The failure that mismatches are: which frame, slot and byte offset. Empty when there are none.
std::optional<Failure> mismatchFailure(const CheckCounts& check);

/// The failure that faults are which the proof found. Empty when there are none.
std::optional<Failure> faultFailure(const std::optional<FrameProofCounters>& proof);

} // namespace rdmagpu::cli
