#pragma once
#include <program/text_file.hpp>
#include <program/trace.hpp>

#include <map>

namespace rdmagpu::testkit {

/// Compares a run with a recorded one.
class Replayer final : public Witness {
public:
  /// `path`: where the run is written down whole. `deadly`: kinds that end the process on this driver.
  Replayer(const Trace& trace, const std::string& path, const LeftOut& deadly)
      : m_trace(&trace), m_full(path), m_deadly(&deadly) {}

  bool good() const noexcept { return m_full.good(); }
  void write(const std::string& text) { m_full.write(text); }
  void compareFacts(const Facts& here);

  void beginEpisode(std::size_t number, const char* kind) override;
  bool before(const Asked&) override;
  bool after(const Asked&, const Answer&) override;
  void endEpisode() override;

  bool same() const noexcept { return m_divergences == 0; }
  /// The first divergences, and how many of each kind there are.
  std::string report() const;

private:
  void diverge(const std::string& kind, const std::string& expected, const std::string& got);

  const Trace* m_trace;
  TextFile m_full;
  const LeftOut* m_deadly;
  const RecordedEpisode* m_episode{};
  std::size_t m_next{};
  bool m_comparable{}; ///< Whether every call was made as it was recorded, so that the digests must agree.
  std::string m_statuses;
  Digest m_digest;

  std::size_t m_made{};
  std::size_t m_notMade{};
  std::size_t m_divergences{};
  std::string m_first;
  std::map<std::string, std::size_t> m_perKind;
};

} // namespace rdmagpu::testkit
