#include "report.hpp"

#include <algorithm>

namespace rdmagpu::cli {

std::string wrapped(const std::string& label, std::string_view text, std::size_t indent) {
  constexpr std::size_t widest = 100;
  std::string lines;
  std::string line = label + std::string(indent > label.size() ? indent - label.size() : 0, ' ');
  bool empty = true;
  while(!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while(!word.empty()) {
      const std::size_t gap = empty ? 0 : 1;
      if(!empty && line.size() + gap + word.size() > widest) {
        lines += line + '\n';
        line.assign(indent, ' ');
        empty = true;
        continue;
      }
      const std::string_view part = word.substr(0, widest - line.size() - gap);
      line.append(gap, ' ').append(part);
      word.remove_prefix(part.size());
      empty = false;
    }
  }
  return lines + line + '\n';
}

std::string visible(std::string text) {
  for(char& c : text) {
    if(c != '\n' && (c < ' ' || c > '~'))
      c = '?';
  }
  return text;
}

} // namespace rdmagpu::cli
