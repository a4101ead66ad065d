#include "stream/v4l2_option.hpp"

#include "frames/decimal.hpp"
#include "parse/picture_size.hpp"

#include <fmt/core.h>

#include <optional>

namespace rdmagpu::cli {
namespace {

constexpr std::string_view kindOfPeer = "v4l2:";
constexpr std::size_t letters = 4;

InputError bad(const std::string& peer, std::string_view why) {
  return {InputErrorKind::BadValue, fmt::format("{}: {}", quote(peer), why)};
}

std::optional<std::uint32_t> parseFourcc(std::string_view text) {
  if(text.empty() || text.size() > letters)
    return {};
  std::uint32_t code = 0;
  for(std::size_t i = 0; i < letters; ++i) {
    const char letter = i < text.size() ? text[i] : ' '; // as V4L2 fills up
    code |= static_cast<std::uint32_t>(static_cast<unsigned char>(letter)) << (8 * i);
  }
  return code;
}

/// Why not; empty when it is done.
std::string set(V4l2Option& option, std::string_view key, std::string_view value) {
  peers::V4l2Config& config = option.config;
  if(key == "format" && config.pixelFormat == 0) {
    const auto code = parseFourcc(value);
    config.pixelFormat = code.value_or(0);
    return code ? "" : "format= is one of V4L2's, four letters such as UYVY";
  }
  if(key == "size" && config.width == 0) {
    const auto size = parsePictureSize(value);
    if(!size)
      return size.error().message;
    config.width = size->width;
    config.height = size->height;
    return {};
  }
  if(key == "input" && !config.input) {
    const auto number = parseDecimal(value);
    if(!number || *number > INT32_MAX)
      return "input= is the number of one of the device's inputs";
    config.input = static_cast<std::uint32_t>(*number);
    return {};
  }
  if(key == "memory" && !config.memory) {
    for(const peers::V4l2Memory memory : {peers::V4l2Memory::DmaBuf, peers::V4l2Memory::UserPointer}) {
      if(value == name(memory))
        config.memory = memory;
    }
    return config.memory ? "" : "memory= is dma-buf or user-pointer";
  }
  return "behind the device come, each once, format=UYVY, size=1280x720, input=1 and memory=user-pointer";
}

} // namespace

bool namesV4l2(std::string_view peer) noexcept { return peer.starts_with(kindOfPeer); }

Expected<V4l2Option> parseV4l2(const std::string& peer) {
  std::string_view rest = std::string_view(peer).substr(kindOfPeer.size());
  const auto next = [&rest] {
    const std::size_t end = rest.find(',');
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return part;
  };
  V4l2Option option;
  option.path = next();
  if(option.path.empty())
    return bad(peer, "name a device, such as v4l2:/dev/video0");
  while(!rest.empty()) {
    const std::string_view part = next();
    const std::size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    if(const std::string why = set(option, part.substr(0, equals), value); !why.empty())
      return bad(peer, why);
  }
  return option;
}

std::string fourccText(std::uint32_t pixelFormat) {
  std::string text;
  for(std::size_t i = 0; i < letters; ++i) {
    // The highest bit says that its samples are big-endian.
    const auto letter = static_cast<char>((pixelFormat >> (8 * i)) & 0x7FU);
    text += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  while(!text.empty() && text.back() == ' ')
    text.pop_back();
  return (pixelFormat >> 31U) != 0 ? text + "-BE" : text;
}

} // namespace rdmagpu::cli
