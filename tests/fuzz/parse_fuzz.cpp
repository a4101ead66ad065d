// Any text as the value of every option that takes a number, and as a Y4M header. What is taken must be in
// range and survive being written and parsed again; what is refused must have a printable reason.
#include "check.hpp"

#include "frames/pixel_format.hpp"
#include "frames/y4m_header.hpp"
#include "parse/byte_size.hpp"
#include "parse/check_mode.hpp"
#include "parse/count.hpp"
#include "parse/picture_size.hpp"
#include "parse/rate.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace rdmagpu::cli;
using rdmagpu::fuzz::check;

namespace {

template <class T>
bool taken(const Expected<T>& parsed) {
  if(parsed)
    return true;
  check(!parsed.error().message.empty(), "a refusal has a reason");
  for(const char c : parsed.error().message)
    check(c >= 0x20 && c < 0x7f, "a message is printable", parsed.error().message);
  return false;
}

std::string slashed(const Rate& rate, char separator) {
  return std::to_string(rate.numerator) + separator + std::to_string(rate.denominator);
}

void checkRate(const Rate& rate) {
  check(rate.numerator > 0 && rate.denominator > 0, "a rate is above 0", slashed(rate, '/'));
  check(rate.numerator <= maxRate * rate.denominator, "a rate can be paced", slashed(rate, '/'));
  const auto again = parseRate(slashed(rate, '/'));
  check(again && *again == rate, "a rate survives", slashed(rate, '/'));
}

void checkSize(const PictureSize& size) {
  check(checkPictureSize(size).has_value(), "a picture's size is in range");
  const std::string text = std::to_string(size.width) + 'x' + std::to_string(size.height);
  const auto again = parsePictureSize(text);
  check(again && *again == size, "a picture's size survives", text);
}

void checkHeader(std::string_view text) {
  const auto header = parseY4mHeader(std::string(y4mMagic).append(" ").append(text));
  if(!taken(header))
    return;
  checkSize(header->size);
  const std::size_t pixels = std::size_t{header->size.width} * header->size.height;
  check(header->frameBytes() >= pixels && header->frameBytes() <= 8 * pixels, "a frame has its pixels");
  if(header->rate)
    checkRate(*header->rate);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if(const auto bytes = parseByteSize(text); taken(bytes)) {
    const auto again = parseByteSize(std::to_string(*bytes));
    check(*bytes > 0 && again && *again == *bytes, "a byte size survives", std::string(text));
  }
  if(const auto count = parseCount(text, 1, 65536); taken(count))
    check(*count >= 1 && *count <= 65536, "a count is in range", std::string(text));
  if(const auto rate = parseRate(text); taken(rate) && *rate)
    checkRate(**rate);
  if(const auto picture = parsePictureSize(text); taken(picture))
    checkSize(*picture);
  if(const auto mode = parseCheckMode(text); taken(mode))
    check(mode->every >= 1 && mode->checks(0) == (mode->kind != CheckMode::Kind::None), "frame 0 is checked");
  if(const auto format = parsePixelFormat(text); taken(format))
    check(name(*format) == text, "a pixel format survives", std::string(text));
  checkHeader(text);
  return 0;
}
