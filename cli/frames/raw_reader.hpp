#pragma once
#include "frames/byte_source.hpp"
#include "frames/expected.hpp"
#include "frames/frame_reader.hpp"

#include <memory>

namespace rdmagpu::cli {

/// Frames back to back with nothing between them. A regular file that does not divide into whole frames is
/// refused at once; a pipe can only be found out at its end.
Expected<std::unique_ptr<FrameReader>> openRaw(ByteSource source, const FrameOptions& options);

} // namespace rdmagpu::cli
