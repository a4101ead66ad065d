#include "frames/y4m_colour.hpp"

#include <algorithm>
#include <array>

namespace rdmagpu::cli {
namespace {

constexpr PlanarShape shape420(std::uint8_t bytes) {
  return {.chromaShiftX = 1, .chromaShiftY = 1, .sampleBytes = bytes};
}
constexpr PlanarShape shape422(std::uint8_t bytes) { return {.chromaShiftX = 1, .sampleBytes = bytes}; }
constexpr PlanarShape shape444(std::uint8_t bytes) { return {.sampleBytes = bytes}; }
constexpr PlanarShape shapeMono(std::uint8_t bytes) { return {.chromaPlanes = 0, .sampleBytes = bytes}; }
constexpr PlanarShape shape411{.chromaShiftX = 2};
constexpr PlanarShape shape444Alpha{.fullPlanes = 2};

// Samples of more than 8 bits take two bytes, little end first.
constexpr std::array colours{
    Y4mColour{"420jpeg", "yuv420p", shape420(1)},     Y4mColour{"420", "yuv420p", shape420(1)},
    Y4mColour{"420mpeg2", "yuv420p", shape420(1)},    Y4mColour{"420paldv", "yuv420p", shape420(1)},
    Y4mColour{"420p9", "yuv420p9le", shape420(2)},    Y4mColour{"420p10", "yuv420p10le", shape420(2)},
    Y4mColour{"420p12", "yuv420p12le", shape420(2)},  Y4mColour{"420p14", "yuv420p14le", shape420(2)},
    Y4mColour{"420p16", "yuv420p16le", shape420(2)},  Y4mColour{"411", "yuv411p", shape411},
    Y4mColour{"422", "yuv422p", shape422(1)},         Y4mColour{"422p9", "yuv422p9le", shape422(2)},
    Y4mColour{"422p10", "yuv422p10le", shape422(2)},  Y4mColour{"422p12", "yuv422p12le", shape422(2)},
    Y4mColour{"422p14", "yuv422p14le", shape422(2)},  Y4mColour{"422p16", "yuv422p16le", shape422(2)},
    Y4mColour{"444", "yuv444p", shape444(1)},         Y4mColour{"444p9", "yuv444p9le", shape444(2)},
    Y4mColour{"444p10", "yuv444p10le", shape444(2)},  Y4mColour{"444p12", "yuv444p12le", shape444(2)},
    Y4mColour{"444p14", "yuv444p14le", shape444(2)},  Y4mColour{"444p16", "yuv444p16le", shape444(2)},
    Y4mColour{"444alpha", "yuva444p", shape444Alpha}, Y4mColour{"mono", "gray", shapeMono(1)},
    Y4mColour{"mono9", "gray9le", shapeMono(2)},      Y4mColour{"mono10", "gray10le", shapeMono(2)},
    Y4mColour{"mono12", "gray12le", shapeMono(2)},    Y4mColour{"mono16", "gray16le", shapeMono(2)},
};

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

} // namespace

const Y4mColour& defaultY4mColour() noexcept { return colours.front(); }

const Y4mColour* findY4mColour(std::string_view tag) noexcept {
  for(const Y4mColour& colour : colours)
    if(std::ranges::equal(tag, colour.tag, {}, lower))
      return &colour;
  return nullptr;
}

std::string y4mColourTags() {
  std::string tags;
  for(const Y4mColour& colour : colours) {
    if(!tags.empty())
      tags += ", ";
    tags += colour.tag;
  }
  return tags;
}

} // namespace rdmagpu::cli
