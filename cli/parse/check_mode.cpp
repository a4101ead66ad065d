#include "parse/check_mode.hpp"

#include "frames/decimal.hpp"

#include <fmt/core.h>

namespace rdmagpu::cli {

Expected<CheckMode> parseCheckMode(std::string_view text) {
  constexpr std::string_view sample = "sample:";
  if(text == "all")
    return CheckMode{};
  if(text == "none")
    return CheckMode{.kind = CheckMode::Kind::None};
  if(text.starts_with(sample)) {
    const auto every = parseDecimal(text.substr(sample.size()));
    if(every && *every > 0)
      return CheckMode{.kind = CheckMode::Kind::Sample, .every = *every};
  }
  return InputError{
      InputErrorKind::BadValue,
      fmt::format("{} is no check: it is all, none, or sample:N for one frame in N, where N is at "
                  "least 1",
                  quote(text))};
}

} // namespace rdmagpu::cli
