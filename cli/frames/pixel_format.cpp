#include "frames/pixel_format.hpp"

#include <fmt/core.h>

#include <array>
#include <limits>

namespace rdmagpu::cli {
namespace {

struct Named {
  PixelFormat format;
  std::string_view name;
};

constexpr std::array formats{
    Named{PixelFormat::Uyvy422, "uyvy422"}, Named{PixelFormat::Yuyv422, "yuyv422"},
    Named{PixelFormat::V210, "v210"},       Named{PixelFormat::Nv12, "nv12"},
    Named{PixelFormat::P010le, "p010le"},   Named{PixelFormat::Yuv420p, "yuv420p"},
    Named{PixelFormat::Yuv422p, "yuv422p"}, Named{PixelFormat::Yuv422p10le, "yuv422p10le"},
    Named{PixelFormat::Bgra, "bgra"},       Named{PixelFormat::Rgba, "rgba"},
    Named{PixelFormat::Rgb24, "rgb24"},     Named{PixelFormat::Gray, "gray"},
};

// No layout here or in Y4M takes more than 8 bytes a pixel, or 256 bytes a line more than that. So once a
// size is in range, no multiplication below can wrap.
static_assert(std::uint64_t{maxDimension} * (8 * maxDimension + 256) <=
              std::numeric_limits<std::size_t>::max());

constexpr std::size_t roundedShift(std::size_t value, unsigned shift) noexcept {
  return (value + (std::size_t{1} << shift) - 1) >> shift;
}

constexpr std::size_t v210LineBytes(std::size_t width) noexcept {
  constexpr std::size_t groupPixels = 48;
  constexpr std::size_t groupBytes = 128;
  return (width + groupPixels - 1) / groupPixels * groupBytes;
}

constexpr bool pairsPixels(PixelFormat format) noexcept {
  return format == PixelFormat::Uyvy422 || format == PixelFormat::Yuyv422 || format == PixelFormat::V210;
}

constexpr PlanarShape shape420{.chromaShiftX = 1, .chromaShiftY = 1};
constexpr PlanarShape shape420Wide{.chromaShiftX = 1, .chromaShiftY = 1, .sampleBytes = 2};
constexpr PlanarShape shape422{.chromaShiftX = 1};
constexpr PlanarShape shape422Wide{.chromaShiftX = 1, .sampleBytes = 2};

std::size_t bytesOf(PixelFormat format, PictureSize size) noexcept {
  const std::size_t pixels = std::size_t{size.width} * size.height;
  switch(format) {
  case PixelFormat::Uyvy422:
  case PixelFormat::Yuyv422:
    return pixels * 2;
  case PixelFormat::V210:
    return v210LineBytes(size.width) * size.height;
  case PixelFormat::Nv12: // interleaved chroma is as many bytes as two planes of it
  case PixelFormat::Yuv420p:
    return planarBytes(shape420, size);
  case PixelFormat::P010le:
    return planarBytes(shape420Wide, size);
  case PixelFormat::Yuv422p:
    return planarBytes(shape422, size);
  case PixelFormat::Yuv422p10le:
    return planarBytes(shape422Wide, size);
  case PixelFormat::Bgra:
  case PixelFormat::Rgba:
    return pixels * 4;
  case PixelFormat::Rgb24:
    return pixels * 3;
  case PixelFormat::Gray:
    return pixels;
  }
  return 0;
}

} // namespace

std::string_view name(PixelFormat format) noexcept {
  for(const Named& row : formats)
    if(row.format == format)
      return row.name;
  return {};
}

std::string pixelFormatNames() {
  std::string names;
  for(const Named& row : formats) {
    if(!names.empty())
      names += ", ";
    names += row.name;
  }
  return names;
}

Expected<PixelFormat> parsePixelFormat(std::string_view text) {
  for(const Named& row : formats)
    if(row.name == text)
      return row.format;
  return InputError{InputErrorKind::BadValue,
                    fmt::format("{} is no pixel format known here: these are {}; for anything else give the "
                                "frame's size with --bytes",
                                quote(text), pixelFormatNames())};
}

std::size_t planarBytes(const PlanarShape& shape, PictureSize size) noexcept {
  const std::size_t full = std::size_t{size.width} * size.height;
  const std::size_t chroma =
      roundedShift(size.width, shape.chromaShiftX) * roundedShift(size.height, shape.chromaShiftY);
  return (full * shape.fullPlanes + chroma * shape.chromaPlanes) * shape.sampleBytes;
}

Expected<std::size_t> frameBytes(PixelFormat format, PictureSize size) {
  if(const auto checked = checkPictureSize(size); !checked)
    return checked.error();
  if(pairsPixels(format) && size.width % 2 != 0)
    return InputError{InputErrorKind::BadValue,
                      fmt::format("{}x{} {}: the width must be even, because two pixels share their chroma",
                                  size.width, size.height, name(format))};
  return bytesOf(format, size);
}

} // namespace rdmagpu::cli
