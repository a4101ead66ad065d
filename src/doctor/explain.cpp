#include <base/library_error.hpp>
#include <doctor/root.hpp>
#include <rdmagpu/doctor.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <new>

namespace rdmagpu {
namespace doctor {
namespace {

struct Pattern {
  const char* part;
  const char* finding;
  std::array<const char*, 3> causes;
};

#define RDMAGPU_PATTERN(part, finding, ...) Pattern{part, finding, {__VA_ARGS__}},
constexpr Pattern patterns[] = {
#include <doctor/decoder.def>
};
#undef RDMAGPU_PATTERN

/// What the C library writes for an errno.
struct ErrnoText {
  const char* text;
  std::int64_t code;
};
constexpr std::array errnoTexts{ErrnoText{"Bad address", 14},
                                ErrnoText{"Invalid argument", 22},
                                ErrnoText{"Cannot allocate memory", 12},
                                ErrnoText{"Operation not supported", 95},
                                ErrnoText{"Protocol not supported", 93},
                                ErrnoText{"Operation not permitted", 1},
                                ErrnoText{"Permission denied", 13},
                                ErrnoText{"Too many open files", 24}};

bool isOfAWord(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether `word` stands in the text by itself.
bool says(std::string_view text, std::string_view word) noexcept {
  for(std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if((at == 0 || !isOfAWord(text[at - 1])) && (end == text.size() || !isOfAWord(text[end])))
      return true;
  }
  return false;
}

bool saysCode(std::string_view text, const Hint& hint) {
  if(hint.code == Hint::anyCode)
    return false;
  if(says(text, hint.codeName) || says(text, std::to_string(hint.code)))
    return true;
  const bool isErrno = *hint.codeName == 'E'; // of the vendors, none begins so
  return isErrno && std::any_of(errnoTexts.begin(), errnoTexts.end(), [&](const ErrnoText& known) {
           return known.code == hint.code && text.find(known.text) != std::string_view::npos;
         });
}

/// The name of a call without what stands behind it in brackets.
std::string_view bareCall(std::string_view call) noexcept { return call.substr(0, call.find(" (")); }

/// How a vendor's calls begin, before a capital letter.
std::string_view startOfCalls(Origin origin) noexcept {
  switch(origin) {
  case Origin::Cuda:
    return "cu";
  case Origin::Vulkan:
    return "vk";
  case Origin::Hip:
    return "hip";
  case Origin::LevelZero:
    return "ze";
  default:
    return {};
  }
}

/// Whether the text begins with a call of that vendor's.
bool namesCallOf(std::string_view text, Origin origin) noexcept {
  const std::string_view start = startOfCalls(origin);
  return !start.empty() && text.size() > start.size() && text.starts_with(start) &&
         std::isupper(static_cast<unsigned char>(text[start.size()])) != 0;
}

/// 0: the row says nothing about the text.
int likeness(std::string_view text, const Hint& hint) {
  const std::string_view call = bareCall(hint.call);
  const bool code = saysCode(text, hint);
  if(!call.empty() && says(text, call))
    return code ? 4 : hint.code == Hint::anyCode ? 2 : 1;
  // A number alone is anybody's; a name is its vendor's, and so is a number beside a call.
  if(code && (says(text, hint.codeName) || (call.empty() && namesCallOf(text, hint.origin))))
    return call.empty() ? 3 : 1;
  return 0;
}

std::vector<Explanation> matches(std::string_view text) {
  constexpr std::size_t most = 6;
  std::vector<Explanation> found;
  for(const Pattern& pattern : patterns) {
    if(text.find(pattern.part) == std::string_view::npos)
      continue;
    Explanation explanation{.matched = pattern.part, .finding = pattern.finding};
    for(const char* cause : pattern.causes) {
      if(cause)
        explanation.causes.push_back(cause);
    }
    found.push_back(std::move(explanation));
  }
  for(int like = 4; like > 0 && found.empty(); --like) {
    for(const Hint& hint : hintTable()) {
      if(found.size() == most || likeness(text, hint) != like)
        continue;
      const std::string call = *hint.call ? std::string{hint.call} + " " : std::string{};
      found.push_back({call + hint.codeName, hint.finding, {hint.sentences.begin(), hint.sentences.end()}});
    }
  }
  return found;
}

} // namespace
} // namespace doctor

Result<std::vector<Explanation>> explain(std::string_view text) try {
  return doctor::matches(text);
} catch(const std::bad_alloc&) {
  return libraryError("explain", LibraryCode::OutOfMemory);
}

} // namespace rdmagpu
