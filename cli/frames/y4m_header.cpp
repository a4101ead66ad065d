#include "frames/y4m_header.hpp"

#include "frames/decimal.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rdmagpu::cli {
namespace {

/// Those that the format knows, but for comments (X): each may come once.
constexpr std::string_view onceOnly = "WHFIAC";

/// What was found so far; a header is complete when W and H were.
struct Parameters {
  std::array<std::optional<std::string_view>, onceOnly.size()> values{}; ///< As written.
  std::optional<std::uint32_t> width, height;
  const Y4mColour* colour{};
  const Y4mColour* olderColour{};
  std::optional<Rate> rate;
  Y4mInterlace interlace{Y4mInterlace::Unknown};
};

InputError badHeader(std::string message) { return {InputErrorKind::BadFormat, std::move(message)}; }

/// Of two answers neither is better than the other.
Expected<void> takeOnce(char letter, std::string_view value, Parameters& parameters) {
  const std::size_t index = onceOnly.find(letter);
  if(index == std::string_view::npos)
    return {};
  auto& before = parameters.values[index];
  if(before)
    return badHeader(fmt::format("parameter {} comes twice, as {} and as {}: it may come once", letter,
                                 quote(*before), quote(value)));
  before = value;
  return {};
}

Expected<void> takeDimension(std::string_view value, std::optional<std::uint32_t>& dimension, char letter) {
  const auto parsed = parseDimension(value);
  if(!parsed)
    return badHeader(fmt::format("parameter {}: {}", letter, parsed.error().message));
  dimension = *parsed;
  return {};
}

Expected<void> takeRate(std::string_view value, Parameters& parameters) {
  const std::size_t colon = value.find(':');
  if(colon != std::string_view::npos) {
    const auto numerator = parseDecimal(value.substr(0, colon));
    const auto denominator = parseDecimal(value.substr(colon + 1));
    if(numerator == 0U && denominator == 0U)
      return {};
    if(numerator && denominator)
      parameters.rate = makeRate(*numerator, *denominator);
  }
  if(!parameters.rate)
    return badHeader(fmt::format("parameter F: {} is no frame rate: NUMERATOR:DENOMINATOR up to {} frames a "
                                 "second, or 0:0 for unknown",
                                 quote(value), maxRate));
  return {};
}

Expected<void> takeInterlace(std::string_view value, Parameters& parameters) {
  if(value.size() != 1 || std::string_view("?ptbm").find(value[0]) == std::string_view::npos)
    return badHeader(
        fmt::format("parameter I: {} is no interlacing: it is one of ?, p, t, b, m", quote(value)));
  parameters.interlace = static_cast<Y4mInterlace>(value[0]);
  return {};
}

Expected<void> takeColour(std::string_view value, Parameters& parameters) {
  parameters.colour = findY4mColour(value);
  if(!parameters.colour)
    return badHeader(fmt::format("parameter C: {} is no colour space known here: these are {}", quote(value),
                                 y4mColourTags()));
  return {};
}

/// Before there were tags for it, writers named the colour space in this comment.
void takeComment(std::string_view value, Parameters& parameters) {
  constexpr std::string_view olderTag = "YSCSS=";
  if(value.starts_with(olderTag))
    parameters.olderColour = findY4mColour(value.substr(olderTag.size()));
}

Expected<void> take(std::string_view parameter, Parameters& parameters) {
  const char letter = parameter[0];
  const std::string_view value = parameter.substr(1);
  if(const auto once = takeOnce(letter, value, parameters); !once)
    return once.error();
  switch(letter) {
  case 'W':
    return takeDimension(value, parameters.width, 'W');
  case 'H':
    return takeDimension(value, parameters.height, 'H');
  case 'F':
    return takeRate(value, parameters);
  case 'I':
    return takeInterlace(value, parameters);
  case 'C':
    return takeColour(value, parameters);
  case 'X':
    takeComment(value, parameters);
    return {};
  default:
    return {};
  }
}

Expected<Y4mHeader> complete(const Parameters& parameters) {
  if(!parameters.width || !parameters.height)
    return badHeader(fmt::format("{} missing: width (W) and height (H) are required",
                                 parameters.width    ? "parameter H is"
                                 : parameters.height ? "parameter W is"
                                                     : "parameters W and H are"));
  const Y4mColour* fallback = parameters.olderColour ? parameters.olderColour : &defaultY4mColour();
  return Y4mHeader{.size = {*parameters.width, *parameters.height},
                   .colour = parameters.colour ? parameters.colour : fallback,
                   .rate = parameters.rate,
                   .interlace = parameters.interlace};
}

std::string_view words(Y4mInterlace interlace) noexcept {
  switch(interlace) {
  case Y4mInterlace::Unknown:
  case Y4mInterlace::Progressive:
    return "";
  case Y4mInterlace::TopFirst:
    return " top field first";
  case Y4mInterlace::BottomFirst:
    return " bottom field first";
  case Y4mInterlace::Mixed:
    return " mixed interlacing";
  }
  return "";
}

} // namespace

std::string Y4mHeader::describe() const {
  const std::string pace =
      rate ? fmt::format("{}/{} fps", rate->numerator, rate->denominator) : std::string("unknown rate");
  return fmt::format("Y4M {}x{} {} {}{}", size.width, size.height, colour->pixelFormat, pace,
                     words(interlace));
}

Expected<Y4mHeader> parseY4mHeader(std::string_view line) {
  const std::string_view magic = line.substr(0, line.find(' '));
  if(magic != y4mMagic)
    return badHeader(fmt::format("{} is not {}", quote(magic), y4mMagic));
  line.remove_prefix(magic.size());
  Parameters parameters;
  while(!line.empty()) {
    const std::string_view parameter = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), parameter.size() + 1));
    if(parameter.empty())
      continue;
    if(const auto taken = take(parameter, parameters); !taken)
      return taken.error();
  }
  return complete(parameters);
}

} // namespace rdmagpu::cli
