#include "stream/preloaded_feed.hpp"

#include "stream/frame_sequence.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace rdmagpu::cli {

Expected<std::unique_ptr<PreloadedFeed>> PreloadedFeed::load(FrameReader& reader, CheckMode check,
                                                             std::uint64_t rounds, std::uint64_t frames,
                                                             std::uint64_t room, const CopyingGpu& gpu,
                                                             FrameHash hash) {
  std::unique_ptr<PreloadedFeed> feed(new PreloadedFeed(reader.frameBytes()));
  FrameSequence once(reader, 1, frames);
  for(;;) {
    Frame frame{.memory = FrameMemory(feed->m_frameBytes, gpu)};
    const auto status = once.read({frame.memory.data(), feed->m_frameBytes});
    if(!status)
      return status.error();
    if(*status == FrameStatus::End)
      break;
    if(feed->m_frames.size() == room)
      return InputError{
          InputErrorKind::Unsupported,
          fmt::format(
              "--preload: the input has more than the {} frames of {} bytes that fit the free memory: "
              "leave --preload away, or limit it with --frames",
              room, feed->m_frameBytes)};
    if(check.kind != CheckMode::Kind::None)
      frame.hash = hash(feed->bytes(frame));
    feed->m_frames.push_back(std::move(frame));
  }
  const std::uint64_t count = feed->m_frames.size();
  const bool forever = rounds > endless / count;
  feed->m_total = std::min(frames, forever ? endless : rounds * count);
  return feed;
}

std::span<const std::byte> PreloadedFeed::next() {
  if(m_next == m_total)
    return {};
  return bytes(m_frames[m_next++ % m_frames.size()]);
}

std::optional<SourceFrame> PreloadedFeed::source(std::uint64_t sequence) {
  const Frame& frame = m_frames[sequence % m_frames.size()];
  return SourceFrame{bytes(frame), frame.hash};
}

} // namespace rdmagpu::cli
