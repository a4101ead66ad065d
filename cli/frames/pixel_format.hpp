#pragma once
#include "frames/expected.hpp"
#include "frames/picture_size.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmagpu::cli {

/// The layouts that `--pix` knows, by FFmpeg's names.
enum class PixelFormat : std::uint8_t {
  Uyvy422,
  Yuyv422,
  V210, ///< FFmpeg's codec v210: groups of 48 pixels in 128 bytes, lines padded to whole groups.
  Nv12,
  P010le,
  Yuv420p,
  Yuv422p,
  Yuv422p10le,
  Bgra,
  Rgba,
  Rgb24,
  Gray,
};

std::string_view name(PixelFormat format) noexcept;

/// All names, separated by ", ", for messages and help texts.
std::string pixelFormatNames();

Expected<PixelFormat> parsePixelFormat(std::string_view text);

/// A layout of whole planes: luma (and alpha) in full, chroma shared by 2^shift pixels.
struct PlanarShape {
  std::uint8_t fullPlanes{1}; ///< Luma, and alpha where there is one.
  std::uint8_t chromaPlanes{2};
  std::uint8_t chromaShiftX{};
  std::uint8_t chromaShiftY{};
  std::uint8_t sampleBytes{1};
};

/// Chroma rounds up where the size is odd. `size` has passed checkPictureSize().
std::size_t planarBytes(const PlanarShape& shape, PictureSize size) noexcept;

/// Bytes of one frame as FFmpeg's rawvideo writes it. Refuses sizes out of range, and odd widths where a
/// pair of pixels shares one group of bytes.
Expected<std::size_t> frameBytes(PixelFormat format, PictureSize size);

} // namespace rdmagpu::cli
