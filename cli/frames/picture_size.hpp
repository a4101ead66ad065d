#pragma once
#include "frames/expected.hpp"

#include <cstdint>
#include <string_view>

namespace rdmagpu::cli {

inline constexpr std::uint32_t maxDimension = 65536;

struct PictureSize {
  std::uint32_t width{};
  std::uint32_t height{};

  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

/// One width or height as text, from 1 to maxDimension.
Expected<std::uint32_t> parseDimension(std::string_view text);

Expected<void> checkPictureSize(PictureSize size);

} // namespace rdmagpu::cli
