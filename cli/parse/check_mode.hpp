#pragma once
#include "frames/expected.hpp"

#include <cstdint>
#include <string_view>

namespace rdmagpu::cli {

/// Which frames are compared with their source: one in `every`, or none.
struct CheckMode {
  enum class Kind : std::uint8_t { All, Sample, None };
  Kind kind{Kind::All};
  std::uint64_t every{1}; ///< Sample: at least 1. Frame 0 is always among them.

  bool checks(std::uint64_t frame) const noexcept { return kind != Kind::None && frame % every == 0; }
  friend bool operator==(const CheckMode&, const CheckMode&) = default;
};

/// "all", "none", or "sample:30" for one frame in thirty.
Expected<CheckMode> parseCheckMode(std::string_view text);

} // namespace rdmagpu::cli
