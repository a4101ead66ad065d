#include <doctor/anonymiser.hpp>

#include <array>
#include <cctype>
#include <cstdio>

namespace rdmagpu::doctor {
namespace {

bool isHex(char c) noexcept { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool isOfAName(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t hexDigits(std::string_view text) noexcept {
  std::size_t count = 0;
  while(count < text.size() && isHex(text[count]))
    ++count;
  return count;
}

/// How long the groups of `digits` hexadecimal digits with a separator between them are that the text begins
/// with; 0 unless there are as many as wanted, or more, and nothing else follows.
std::size_t groups(std::string_view text, std::size_t digits, std::size_t wanted,
                   std::string_view separators) {
  std::size_t at = 0;
  std::size_t found = 0;
  while(hexDigits(text.substr(at)) == digits) {
    at += digits;
    ++found;
    if(at >= text.size() || separators.find(text[at]) == std::string_view::npos)
      break;
    ++at;
  }
  const bool ended = at == text.size() || !isOfAName(text[at]);
  return found >= wanted && ended ? at : 0;
}

std::size_t uuid(std::string_view text) noexcept {
  constexpr std::array<std::size_t, 5> digits{8, 4, 4, 4, 12};
  std::size_t at = 0;
  for(std::size_t i = 0; i < digits.size(); ++i) {
    if(i > 0 && (at >= text.size() || text[at++] != '-'))
      return 0;
    if(hexDigits(text.substr(at)) != digits[i])
      return 0;
    at += digits[i];
  }
  return at;
}

/// Where in a name such as "enx0050b6123456" the address begins; 0: nowhere.
std::size_t addressWithin(std::string_view name) noexcept {
  constexpr std::size_t digitsOfMac = 12;
  const std::size_t x = name.find('x');
  if(x == std::string_view::npos || x == 0 || name.size() - x - 1 < digitsOfMac)
    return 0;
  const bool letters = std::isalpha(static_cast<unsigned char>(name.front())) != 0;
  return letters && hexDigits(name.substr(x + 1)) >= digitsOfMac ? x + 1 : 0;
}

std::string numbered(const char* before, int digits, std::size_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%0*x", digits, static_cast<unsigned>(number));
  return before + std::string{text.data()};
}

std::string madeUuid(std::size_t n) { return numbered("00000000-0000-0000-0000-", 12, n); }
std::string madeMac(std::size_t n) { return numbered("00:00:00:00:00:", 2, n % 256); }
std::string madeGuid(std::size_t n) { return numbered("0000:0000:0000:", 4, n % 65536); }
std::string madeDigits(std::size_t n) { return numbered("", 12, n); }

} // namespace

Anonymiser::Anonymiser(const std::string& host) : m_host(host), m_shortHost(host.substr(0, host.find('.'))) {}

std::string Anonymiser::substitute(std::string_view found, std::string (*make)(std::size_t)) {
  const auto known = m_known.find(found);
  if(known != m_known.end())
    return known->second;
  return m_known.emplace(std::string{found}, make(m_known.size() + 1)).first->second;
}

std::string Anonymiser::line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if(colon != std::string_view::npos && line.substr(0, colon).find("erial") != std::string_view::npos)
    return std::string{line.substr(0, colon)} + ": 0";
  std::string clean;
  while(!line.empty()) {
    const std::size_t pairs = groups(line, 2, 6, ":-");
    const std::size_t quads = groups(line, 4, 4, ":");
    const std::size_t unique = uuid(line);
    std::size_t length = 0;
    while(length < line.size() && isOfAName(line[length]))
      ++length;
    const std::string_view word = line.substr(0, length);
    constexpr std::size_t shortest = 3;
    if(unique > 0) {
      length = unique;
      clean += substitute(line.substr(0, length), madeUuid);
    } else if(pairs > 0) {
      length = pairs;
      clean += substitute(line.substr(0, length), madeMac);
    } else if(quads > 0) {
      length = quads;
      clean += substitute(line.substr(0, length), madeGuid);
    } else if(m_host.size() >= shortest && line.starts_with(m_host) &&
              (m_host.size() == line.size() || !isOfAName(line[m_host.size()]))) {
      length = m_host.size();
      clean += "host";
    } else if(m_shortHost.size() >= shortest && word == m_shortHost) {
      clean += "host";
    } else if(const std::size_t at = addressWithin(word); at > 0) {
      clean += std::string{word.substr(0, at)} + substitute(word.substr(at), madeDigits);
    } else if(length > 0) {
      clean += word;
    } else {
      length = 1;
      clean += line.front();
    }
    line.remove_prefix(length);
  }
  return clean;
}

std::string Anonymiser::text(std::string_view text) {
  std::string clean;
  while(true) {
    const std::size_t end = text.find('\n');
    clean += line(text.substr(0, end));
    if(end == std::string_view::npos)
      return clean;
    clean += '\n';
    text.remove_prefix(end + 1);
  }
}

} // namespace rdmagpu::doctor
