#include "parse/rate.hpp"

#include "frames/decimal.hpp"

#include <fmt/core.h>

#include <cstdint>

namespace rdmagpu::cli {
namespace {

/// A decimal number as digits / scale.
struct Decimal {
  std::uint64_t digits{};
  std::uint64_t scale{1};
};

/// With up to nine digits before the point and six behind it, so that no product here can wrap.
std::optional<Decimal> parsePoint(std::string_view text) {
  constexpr std::size_t mostWhole = 9;
  constexpr std::size_t mostFraction = 6;
  const std::size_t point = text.find('.');
  const std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  const auto whole = parseDecimal(text.substr(0, point));
  if(!whole || text.substr(0, point).size() > mostWhole || fraction.size() > mostFraction)
    return {};
  if(point == std::string_view::npos)
    return Decimal{*whole, 1};
  const auto part = parseDecimal(fraction);
  if(!part)
    return {};
  Decimal decimal;
  for(std::size_t i = 0; i < fraction.size(); ++i)
    decimal.scale *= 10;
  decimal.digits = *whole * decimal.scale + *part;
  return decimal;
}

/// The NTSC rate that `decimal` is a rounding of.
std::optional<Rate> spokenNtsc(const Decimal& decimal) {
  if(decimal.scale < 100)
    return {};
  for(const std::uint32_t base : {24U, 30U, 48U, 60U, 96U, 120U, 240U}) {
    const std::uint64_t thousandths = std::uint64_t{base} * 1000 * decimal.scale;
    if((thousandths + 1001 / 2) / 1001 == decimal.digits)
      return Rate{base * 1000, 1001};
  }
  return {};
}

std::optional<Rate> parseFraction(std::string_view text, std::size_t slash) {
  const auto numerator = parseDecimal(text.substr(0, slash));
  const auto denominator = parseDecimal(text.substr(slash + 1));
  if(!numerator || !denominator)
    return {};
  return makeRate(*numerator, *denominator);
}

std::optional<Rate> parseNumber(std::string_view text) {
  if(const std::size_t slash = text.find('/'); slash != std::string_view::npos)
    return parseFraction(text, slash);
  const auto decimal = parsePoint(text);
  if(!decimal)
    return {};
  if(const auto ntsc = spokenNtsc(*decimal))
    return ntsc;
  return makeRate(decimal->digits, decimal->scale);
}

} // namespace

Expected<std::optional<Rate>> parseRate(std::string_view text) {
  if(text == "max" || text == "free")
    return std::optional<Rate>();
  const auto rate = parseNumber(text);
  if(!rate)
    return InputError{
        InputErrorKind::BadValue,
        fmt::format("{} is no frame rate: it is a number such as 60, 59.94 or 60000/1001, above 0 and "
                    "up to {} frames a second, or max for as fast as it goes",
                    quote(text), maxRate)};
  return rate;
}

} // namespace rdmagpu::cli
