#pragma once
#include "frames/expected.hpp"

#include <rdmagpu/peers/v4l2.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmagpu::cli {

/// A V4L2 device as `--peer` names it.
struct V4l2Option {
  std::string path;
  peers::V4l2Config config{};
};

/// Whether `--peer` names one.
bool namesV4l2(std::string_view peer) noexcept;
/// "v4l2:/dev/video0", and behind it, each once, ",format=UYVY", ",size=1280x720", ",input=1" and
/// ",memory=user-pointer".
Expected<V4l2Option> parseV4l2(const std::string& peer);

/// The four letters of a format: "UYVY".
std::string fourccText(std::uint32_t pixelFormat);

} // namespace rdmagpu::cli
