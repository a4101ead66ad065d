#pragma once
#include <rdmagpu/peers/v4l2.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rdmagpu::v4l2test {

/// The frame's number that vivid writes into the picture, in " 00:00:00:000 NUMBER", 8x16 pixels a character,
/// from the pixel 16, 16 on. Which glyph is which digit is learned from the numbers that are expected: each
/// digit must always look the same, and no two alike.
class PictureCounter {
public:
  PictureCounter(const peers::V4l2Format& format, std::size_t bytesPerPixel)
      : m_line(format.bytesPerLine), m_pixel(bytesPerPixel) {}

  /// Whether the picture's number can be that one, given all that were before.
  bool shows(std::span<const std::byte> picture, std::uint64_t number) {
    const std::string digits = std::to_string(number);
    for(std::size_t i = 0; i < digits.size(); ++i) {
      const Glyph glyph = glyphAt(picture, firstDigit + i);
      const auto known = m_glyphs.find(digits[i]);
      if(known != m_glyphs.end() && known->second != glyph)
        return false;
      if(known != m_glyphs.end())
        continue;
      if(std::any_of(m_glyphs.begin(), m_glyphs.end(), [&](const auto& g) { return g.second == glyph; }))
        return false;
      m_glyphs.emplace(digits[i], glyph);
    }
    return true;
  }
  std::size_t digitsSeen() const { return m_glyphs.size(); }

private:
  using Glyph = std::vector<std::byte>;
  static constexpr std::size_t width = 8;
  static constexpr std::size_t height = 16;
  static constexpr std::size_t firstDigit = 14; ///< Behind the time.

  Glyph glyphAt(std::span<const std::byte> picture, std::size_t character) const {
    Glyph glyph;
    for(std::size_t y = 0; y < height; ++y) {
      const auto row =
          picture.subspan((16 + y) * m_line + (16 + character * width) * m_pixel, width * m_pixel);
      glyph.insert(glyph.end(), row.begin(), row.end());
    }
    return glyph;
  }

  std::size_t m_line;
  std::size_t m_pixel;
  std::map<char, Glyph> m_glyphs;
};

} // namespace rdmagpu::v4l2test
