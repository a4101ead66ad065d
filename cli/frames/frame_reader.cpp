#include "frames/frame_reader.hpp"

#include "frames/byte_source.hpp"
#include "frames/raw_reader.hpp"
#include "frames/y4m_reader.hpp"

#include <utility>

namespace rdmagpu::cli {

Expected<std::unique_ptr<FrameReader>> openFrames(const std::string& path, const FrameOptions& options) {
  auto source = ByteSource::open(path, options.stop);
  if(!source)
    return source.error();
  const auto start = source->peek(y4mMagic.size());
  if(!start)
    return start.error();
  if(start->empty())
    return InputError{InputErrorKind::Empty, source->name() + ": is empty: at least one frame is expected"};
  if(*start == y4mMagic)
    return openY4m(std::move(*source), options);
  return openRaw(std::move(*source), options);
}

} // namespace rdmagpu::cli
