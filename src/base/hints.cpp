#include <base/hints.hpp>
#include <base/library_error.hpp>
#include <rdmagpu/error.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace rdmagpu {
namespace {

constexpr std::size_t maxSentences = 4;

struct Row {
  Origin origin;
  const char* call;
  std::int64_t code;
  const char* codeName;
  const char* finding;
  const char* sentences[maxSentences];
};

#define RDMAGPU_HINT(origin, call, code, codeName, finding, ...)                                             \
  Row{Origin::origin, call, code, codeName, finding, {__VA_ARGS__}},
constexpr Row rows[] = {
#include <base/hints.def>
#ifdef _WIN32
#include <base/hints_windows.def>
#endif
};
#undef RDMAGPU_HINT

constexpr auto table = [] {
  std::array<Hint, std::size(rows)> hints{};
  for(std::size_t i = 0; i < hints.size(); ++i) {
    const Row& row = rows[i];
    std::size_t count = 0;
    while(count < maxSentences && row.sentences[count])
      ++count;
    hints[i] = {row.origin, row.call, row.code, row.codeName, row.finding, std::span{row.sentences, count}};
  }
  return hints;
}();

} // namespace

std::span<const Hint> hintTable() noexcept { return table; }

const Hint* findHint(Origin origin, const char* call, std::int64_t code) noexcept {
  for(const Hint& hint : table) {
    const std::string_view wanted = hint.call;
    if(hint.origin == origin && (hint.code == code || hint.code == Hint::anyCode) &&
       (wanted.empty() || wanted == call))
      return &hint;
  }
  return nullptr;
}

std::span<const char* const> Error::hints() const noexcept {
  const Hint* hint = findHint(origin, call, code);
  return hint ? hint->sentences : std::span<const char* const>{};
}

} // namespace rdmagpu
