#include <program/replayer.hpp>

#include <algorithm>

namespace rdmagpu::testkit {
namespace {

constexpr std::size_t mostShown = 20;

} // namespace

void Replayer::diverge(const std::string& kind, const std::string& expected, const std::string& got) {
  m_comparable = false;
  ++m_perKind[kind];
  if(++m_divergences > mostShown)
    return;
  m_first += "episode " + std::to_string(m_episode ? m_episode->number : 0) + ", call " +
             std::to_string(m_next) + ":\n  expected  " + expected + "\n  got       " + got + "\n";
}

void Replayer::compareFacts(const Facts& here) {
  for(const auto& [name, value] : m_trace->head.facts) {
    const auto it = std::find_if(here.begin(), here.end(),
                                 [&, &key = name](const auto& fact) { return fact.first == key; });
    const std::string got = it == here.end() ? "nothing" : it->second;
    if(got != value)
      diverge("fact " + name, std::string{name}.append(" ").append(value),
              std::string{name}.append(" ").append(got));
  }
}

void Replayer::beginEpisode(std::size_t number, const char* kind) {
  m_full.write(episodeText(number, kind));
  const auto& all = m_trace->episodes;
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const RecordedEpisode& episode) { return episode.number == number; });
  m_episode = it == all.end() ? nullptr : &*it;
  m_next = 0;
  m_comparable = m_episode != nullptr;
  m_statuses.clear();
  m_digest = {};
}

bool Replayer::before(const Asked& asked) {
  const char expected =
      m_episode && m_next < m_episode->statuses.size() ? m_episode->statuses[m_next] : notMade;
  const bool deadly = m_deadly->contains(asked.base());
  if(expected == notMade || asked.reused || deadly) {
    const std::string line = lineOf(asked, nullptr);
    m_full.write(line + "\n");
    m_digest.add(line);
    m_comparable &= expected == notMade;
    ++m_notMade;
    m_statuses += notMade;
    ++m_next;
    return false;
  }
  m_full.write(asked.kind() + " " + asked.arguments.text());
  return true;
}

bool Replayer::after(const Asked& asked, const Answer& answer) {
  ++m_made;
  const std::string line = lineOf(asked, &answer);
  m_full.write(" -> " + answer.text() + "\n");
  m_digest.add(line);
  const char expected = m_episode->statuses[m_next];
  const char got = statusCharacter(answer.status);
  m_statuses += got;
  const bool hasLine = m_next < m_episode->lines.size();
  if(hasLine && m_episode->lines[m_next] != line)
    diverge(asked.kind(), m_episode->lines[m_next], line);
  else if(expected != got)
    diverge(asked.kind(), std::string{"status "} + expected, line);
  ++m_next;
  const bool bothOrNeither = (expected == statusCharacter(api::Status::Success)) == answer.ok();
  return asked.effect == Effect::None || bothOrNeither;
}

void Replayer::endEpisode() {
  if(!m_statuses.empty())
    m_full.write(episodeEndText(m_statuses, m_digest.text()));
  if(!m_episode)
    return;
  if(m_comparable && m_next != m_episode->statuses.size())
    diverge("length of an episode", std::to_string(m_episode->statuses.size()) + " calls",
            std::to_string(m_next) + " calls");
  else if(m_comparable && m_digest.text() != m_episode->digest)
    diverge("values of an episode", "digest " + m_episode->digest, "digest " + m_digest.text());
}

std::string Replayer::report() const {
  std::string text = std::to_string(m_made) + " calls made and compared, " + std::to_string(m_notMade) +
                     " not made, " + std::to_string(m_divergences) + " divergences\n";
  if(m_divergences == 0)
    return text;
  text += "The first ones:\n" + m_first + "How many of each kind:\n";
  for(const auto& [kind, count] : m_perKind)
    text += "  " + std::to_string(count) + "  " + kind + "\n";
  return text;
}

} // namespace rdmagpu::testkit
