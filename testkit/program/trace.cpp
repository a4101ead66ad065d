#include <program/trace.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rdmagpu::testkit {
namespace {

constexpr const char* firstLine = "rdmagpu driver trace, format 1";

struct Character {
  std::uint32_t status;
  char character;
};

constexpr std::array characters{
    Character{0, '.'},   Character{1, 'v'},   Character{2, 'm'},   Character{3, 'i'},
    Character{4, 'd'},   Character{100, 'n'}, Character{101, 'D'}, Character{201, 'c'},
    Character{304, 'o'}, Character{400, 'h'}, Character{401, 's'}, Character{700, 'A'},
    Character{709, 'x'}, Character{800, 'p'}, Character{801, 'u'}, Character{999, '?'},
};

void readLine(const std::string& line, Trace& trace) {
  std::istringstream words{line};
  std::string word;
  words >> word;
  if(word == "generator") {
    words >> trace.head.generator;
  } else if(word == "seed") {
    words >> trace.head.seed;
  } else if(word == "machine") {
    std::getline(words >> std::ws, trace.head.machine);
  } else if(word == "without") {
    auto& [pattern, reason] = trace.head.leftOut.emplace_back();
    std::getline(words >> pattern >> std::ws, reason);
  } else if(word == "fact") {
    auto& [name, value] = trace.head.facts.emplace_back();
    std::getline(words >> name >> std::ws, value);
  } else if(word == "episode") {
    words >> trace.episodes.emplace_back().number;
  } else if(word == "=" && !trace.episodes.empty()) {
    words >> trace.episodes.back().statuses >> trace.episodes.back().digest;
  } else if(!word.empty() && word != "#" && !trace.episodes.empty()) {
    trace.episodes.back().lines.push_back(line);
  }
}

} // namespace

std::string lineOf(const Asked& asked, const Answer* answer) {
  return asked.kind() + " " + asked.arguments.text() + (answer ? " -> " + answer->text() : " not made");
}

char statusCharacter(api::Status status) noexcept {
  for(const Character& known : characters) {
    if(known.status == static_cast<std::uint32_t>(status))
      return known.character;
  }
  return 'z';
}

std::string Digest::text() const {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", m_value);
  return text.data();
}

std::string headText(const TraceHead& head) {
  std::string text = std::string{firstLine} + "\ngenerator " + std::to_string(head.generator) + "\nseed " +
                     std::to_string(head.seed) + "\n";
  if(!head.machine.empty())
    text += "machine " + head.machine + "\n";
  for(const auto& [pattern, reason] : head.leftOut)
    text.append("without ").append(pattern).append(" ").append(reason).append("\n");
  return text + factsText(head.facts);
}

std::string factsText(const Facts& facts) {
  std::string text;
  for(const auto& [name, value] : facts)
    text.append("fact ").append(name).append(" ").append(value).append("\n");
  return text;
}

std::string episodeText(std::size_t number, const std::string& kind) {
  return "episode " + std::to_string(number) + " " + kind + "\n";
}

std::string episodeEndText(const std::string& statuses, const std::string& digest) {
  return "= " + statuses + " " + digest + "\n";
}

std::optional<Trace> readTrace(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  if(!file) {
    std::fprintf(stderr, "rdmagpu-testkit: %s cannot be opened: %s\n", path.c_str(), std::strerror(errno));
    return {};
  }
  if(!std::getline(file, line) || line != firstLine) {
    std::fprintf(stderr, "rdmagpu-testkit: %s is not a trace of format 1\n", path.c_str());
    return {};
  }
  Trace trace;
  while(std::getline(file, line))
    readLine(line, trace);
  // A recording that was cut short ends inside an episode.
  if(!trace.episodes.empty() && trace.episodes.back().statuses.empty())
    trace.episodes.pop_back();
  if(trace.episodes.empty()) { // nothing could differ from it
    std::fprintf(stderr, "rdmagpu-testkit: %s holds no whole episode\n", path.c_str());
    return {};
  }
  return trace;
}

} // namespace rdmagpu::testkit
