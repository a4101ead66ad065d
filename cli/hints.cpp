#include "hints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>

namespace rdmagpu::cli {
namespace {

bool isOfAName(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isLower(char c) noexcept { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool isUpper(char c) noexcept { return std::isupper(static_cast<unsigned char>(c)) != 0; }

/// As the library spells what is its own, and nothing else in a hint is spelled.
bool isCamelCase(std::string_view word) noexcept {
  return isLower(word.front()) && word.find('_') == std::string_view::npos &&
         std::any_of(word.begin(), word.end(), isUpper);
}

/// Values of fields, and how the options spell them.
constexpr std::array values{ConfigOption{"Auto", "auto"}, ConfigOption{"Vmm", "vmm"},
                            ConfigOption{"MemAlloc", "mem-alloc"}};

std::string spellValues(std::string text) {
  for(const ConfigOption& value : values) {
    for(std::size_t at = 0; (at = text.find(value.field, at)) != std::string::npos; at += value.option.size())
      text.replace(at, value.field.size(), value.option);
  }
  return text;
}

/// Empty when some word of it has no counterpart in the program.
std::optional<std::string> translate(std::string_view sentence, std::span<const ConfigOption> options) {
  std::string text;
  for(std::string_view word; !(word = libraryWord(sentence)).empty();) {
    const auto known =
        std::find_if(options.begin(), options.end(), [&](const ConfigOption& o) { return o.field == word; });
    if(known == options.end())
      return {};
    const auto at = static_cast<std::size_t>(word.data() - sentence.data());
    text.append(sentence.substr(0, at)).append(known->option);
    sentence.remove_prefix(at + word.size());
  }
  return spellValues(text.append(sentence));
}

} // namespace

std::string_view libraryWord(std::string_view text) noexcept {
  constexpr std::string_view call = "()";
  for(std::size_t begin = 0; begin < text.size(); ++begin) {
    std::size_t end = begin;
    while(end < text.size() && isOfAName(text[end]))
      ++end;
    if(end == begin)
      continue;
    if(text.substr(end).starts_with(call))
      return text.substr(begin, end - begin + call.size());
    const bool isOfAnOption = begin != 0 && text[begin - 1] == '-'; // of another program
    if(!isOfAnOption && isCamelCase(text.substr(begin, end - begin)))
      return text.substr(begin, end - begin);
    begin = end;
  }
  return {};
}

std::vector<std::string> hintsOf(const Error& error, std::span<const ConfigOption> options) {
  std::vector<std::string> hints;
  for(const char* sentence : error.hints()) {
    if(auto hint = translate(sentence, options))
      hints.push_back(*std::move(hint));
  }
  return hints;
}

} // namespace rdmagpu::cli
