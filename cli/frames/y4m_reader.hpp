#pragma once
#include "frames/byte_source.hpp"
#include "frames/expected.hpp"
#include "frames/frame_reader.hpp"
#include "frames/y4m_header.hpp"

#include <memory>

namespace rdmagpu::cli {

/// YUV4MPEG2: a header line, then each frame after a FRAME line of its own. A frame's payload is its bytes
/// without that line. What the options say beside the header must agree with it.
Expected<std::unique_ptr<FrameReader>> openY4m(ByteSource source, const FrameOptions& options);

} // namespace rdmagpu::cli
