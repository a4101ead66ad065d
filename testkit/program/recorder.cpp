#include <program/recorder.hpp>

namespace rdmagpu::testkit {

void Recorder::beginEpisode(std::size_t number, const char* kind) {
  writeBoth(episodeText(number, kind));
  m_statuses.clear();
  m_digest = {};
}

void Recorder::keep(const std::string& line, char status) {
  m_statuses += status;
  m_digest.add(line);
  if(m_lines++ < m_wholeLines)
    m_trace.write(line + "\n");
}

bool Recorder::before(const Asked& asked) {
  if(asked.reused) {
    const std::string line = lineOf(asked, nullptr);
    m_full.write(line + "\n");
    keep(line, notMade);
    return false;
  }
  m_full.write(asked.kind() + " " + asked.arguments.text()); // what a call that does not return leaves behind
  return true;
}

bool Recorder::after(const Asked& asked, const Answer& answer) {
  m_full.write(" -> " + answer.text() + "\n");
  keep(lineOf(asked, &answer), statusCharacter(answer.status));
  return true;
}

void Recorder::endEpisode() {
  if(!m_statuses.empty())
    writeBoth(episodeEndText(m_statuses, m_digest.text()));
}

} // namespace rdmagpu::testkit
