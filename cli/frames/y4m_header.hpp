#pragma once
#include "frames/expected.hpp"
#include "frames/picture_size.hpp"
#include "frames/rate.hpp"
#include "frames/y4m_colour.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmagpu::cli {

/// The first bytes of every YUV4MPEG2 stream, and the first word of its header.
inline constexpr std::string_view y4mMagic = "YUV4MPEG2";

enum class Y4mInterlace : char {
  Unknown = '?',
  Progressive = 'p',
  TopFirst = 't',
  BottomFirst = 'b',
  Mixed = 'm', ///< Each FRAME line says it for its frame. The bytes are laid out alike.
};

/// What the first line of a YUV4MPEG2 stream says, as far as the bytes and their pace depend on it.
struct Y4mHeader {
  PictureSize size;
  const Y4mColour* colour{}; ///< Never null; static.
  std::optional<Rate> rate;  ///< Empty when absent, or 0:0.
  Y4mInterlace interlace{Y4mInterlace::Unknown};

  std::size_t frameBytes() const noexcept { return planarBytes(colour->shape, size); }
  /// "Y4M 1920x1080 yuv420p 60/1 fps".
  std::string describe() const;
};

/// `line` is the first line without its newline. Parameters come in any order, each once, but for comments.
/// What aspect ratios, comments and parameters of unknown letters say does not change the frames and is
/// passed over, as FFmpeg and mjpegtools do. Messages begin with the parameter, not with a file's name.
Expected<Y4mHeader> parseY4mHeader(std::string_view line);

} // namespace rdmagpu::cli
