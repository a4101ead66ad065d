#pragma once
#include <program/run.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmagpu::testkit {

/// What a recorded trace is about.
struct TraceHead {
  int generator = generatorVersion;
  std::uint64_t seed = 1;
  std::string machine{};
  std::vector<std::pair<std::string, std::string>> leftOut{}; ///< Pattern, and why.
  Facts facts{};
};

/// One episode as recorded: a character for each call, and the whole lines where they were kept.
struct RecordedEpisode {
  std::size_t number{};
  std::vector<std::string> lines{};
  std::string statuses{};
  std::string digest{};
};

struct Trace {
  TraceHead head;
  std::vector<RecordedEpisode> episodes;
};

/// The line of a call; without an answer: it was not made.
std::string lineOf(const Asked&, const Answer*);
char statusCharacter(api::Status) noexcept;
inline constexpr char notMade = '~';

/// FNV-1a over the lines of an episode.
class Digest {
public:
  void add(const std::string& line) noexcept {
    for(const char c : line)
      m_value = (m_value ^ static_cast<unsigned char>(c)) * 0x01000193U;
  }
  std::string text() const;

private:
  std::uint32_t m_value = 0x811C9DC5U;
};

std::string headText(const TraceHead&);
std::string factsText(const Facts&);
std::string episodeText(std::size_t number, const std::string& kind);
std::string episodeEndText(const std::string& statuses, const std::string& digest);

/// Nothing, with a message on stderr, when it is not a trace.
std::optional<Trace> readTrace(const std::string& path);

} // namespace rdmagpu::testkit
