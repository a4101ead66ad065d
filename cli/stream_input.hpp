#pragma once
#include "failure.hpp"
#include "frames/frame_reader.hpp"
#include "stream/frame_feed.hpp"
#include "stream/frame_memory.hpp"
#include "stream/hash.hpp"
#include "stream/stream_options.hpp"

#include <rdmagpu/slot_ring.hpp>
#include <rdmagpu/software_peer.hpp>

#include <memory>
#include <optional>

namespace rdmagpu::cli {

/// A value, or the failure that ends the command.
template <class T>
struct Step {
  std::optional<T> value{};
  std::optional<Failure> failure{};
};

/// The file or pipe that the command line names.
Step<std::unique_ptr<FrameReader>> openInput(const StreamOptions& options);
/// The peer's clock, as the command line or the input says; 0 for none.
Step<FrameRate> paceOf(const StreamOptions& options, const FrameReader& reader);
/// The input's frames, for a ring. All is borrowed for the feed's life.
Step<std::unique_ptr<FrameFeed>> makeFeed(const StreamOptions& options, FrameReader& reader,
                                          const SlotRing& ring, const CopyingGpu& gpu, FrameHash hash);

} // namespace rdmagpu::cli
