#pragma once
#include <program/text_file.hpp>
#include <program/trace.hpp>

namespace rdmagpu::testkit {

/// Writes a run down twice: whole, and as the trace that is kept, which has whole lines for the first calls
/// only.
class Recorder final : public Witness {
public:
  Recorder(const std::string& fullPath, const std::string& tracePath, std::size_t wholeLines)
      : m_full(fullPath), m_trace(tracePath), m_wholeLines(wholeLines) {}

  bool good() const noexcept { return m_full.good() && m_trace.good(); }
  /// For what stands between episodes.
  void writeBoth(const std::string& text) {
    m_full.write(text);
    m_trace.write(text);
  }

  void beginEpisode(std::size_t number, const char* kind) override;
  bool before(const Asked&) override;
  bool after(const Asked&, const Answer&) override;
  void endEpisode() override;

private:
  void keep(const std::string& line, char status);

  TextFile m_full;
  TextFile m_trace;
  std::size_t m_wholeLines;
  std::size_t m_lines{};
  std::string m_statuses;
  Digest m_digest;
};

} // namespace rdmagpu::testkit
