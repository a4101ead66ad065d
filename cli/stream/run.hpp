#pragma once
#include "failure.hpp"
#include "frames/frame_writer.hpp"
#include "stream/frame_check.hpp"
#include "stream/frame_feed.hpp"
#include "stream/frame_memory.hpp"
#include "stream/stream_slots.hpp"
#include "stream/tally.hpp"

#include <rdmagpu/copy_queue.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace rdmagpu::cli {

/// What a stream is made of. All of it is borrowed for the run.
struct StreamParts {
  const RdmaGpuBuffer& buffer; ///< This side's slots.
  CopyQueue& queue;            ///< This side's own.
  CopyingGpu gpu;              ///< Where the slots are; empty: in host memory.
  SlotRing& ring;
  SoftwarePeer& peer;
  FrameFeed& feed;
  FrameCheck& check;
  bool checksInPlace{}; ///< Frames are compared by the checksum() of their slot; capture only.
  Tally& tally;
  FrameWriter* out{}; ///< Null: frames are not written.
  std::atomic<bool>& stop;
  StreamSlots& slots; ///< Both sides'.
};

struct StreamEnd {
  std::int64_t nanoseconds{};       ///< From the peer's start to the last frame consumed.
  std::optional<Failure> failure{}; ///< What ended it before its time, other than the stop flag.
};

/// The peer writes the feed's frames into the slots; this thread takes each, reads it back through the queue,
/// checks it and writes it out. Of a GPU's slots it reads only what is checked or written out, several at a
/// time; with `checksInPlace` and nothing to write out, only what is wrong.
StreamEnd runCapture(const StreamParts& parts);

/// This thread uploads the feed's frames into the slots; the peer reads each, and on its thread it is checked
/// and written out.
StreamEnd runPlayout(const StreamParts& parts);

/// The first of the failures that a run leaves behind, once the peer is at its end: the input's, that of the
/// copies to or from the peer's slots, or the peer's own. An interrupted input is none.
std::optional<Failure> failureBehind(const StreamParts& parts);

} // namespace rdmagpu::cli
