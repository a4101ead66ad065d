#include "human.hpp"
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace rdmagpu::cli {
namespace {

constexpr std::size_t widest = 100;

/// Words of `text` in lines that begin with `indent`, the first of them with `label`.
std::string wrapped(const std::string& label, std::string_view text, std::size_t indent) {
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

const char* colourOf(Severity severity) noexcept {
  switch(severity) {
  case Severity::Note:
    return "\033[36m";
  case Severity::Warning:
    return "\033[33m";
  case Severity::Blocker:
    return "\033[31m";
  }
  return "";
}

/// What comes out of files may be anything; only what can be seen is shown.
std::string visible(std::string text) {
  for(char& c : text) {
    if(c != '\n' && (c < ' ' || c > '~'))
      c = '?';
  }
  return text;
}

std::string findingText(const Finding& finding, bool colour) {
  const std::string severity = name(finding.severity);
  std::string text = visible(wrapped(severity + ":", fmt::format("{} [{}]", finding.title, finding.id), 10));
  if(colour)
    text = colourOf(finding.severity) + text.substr(0, severity.size()) + "\033[0m" +
           text.substr(severity.size());
  if(!finding.evidence.empty())
    text += visible(wrapped("", "seen: " + finding.evidence, 10));
  if(!finding.fix.empty())
    text += visible(wrapped("", "do: " + finding.fix, 10));
  if(*finding.risk)
    text += visible(wrapped("", std::string{"risk: "} + finding.risk, 10));
  return text;
}

std::string pairsText(const DoctorReport& report) {
  std::vector<std::vector<std::string>> rows{{"GPU", "PEER", "ROUTE", "VERDICT", "DISTANCE", "BECAUSE OF"}};
  for(const PairVerdict& pair : report.pairs)
    rows.push_back({pair.gpu, pair.peer.empty() ? "any peer" : pair.peer.substr(0, 16), name(pair.route),
                    name(pair.verdict), pair.distance == Distance::Unknown ? "-" : name(pair.distance),
                    pair.because.empty() ? "-" : pair.because.front()});
  return rows.size() > 1 ? columns(rows) + '\n' : std::string{};
}

/// In words what `verdict` says in one.
const char* conclusion(Verdict verdict) noexcept {
  switch(verdict) {
  case Verdict::Direct:
    return "Peers can write to and read from GPU memory directly, by all that can be seen.";
  case Verdict::WriteOnly:
    return "Peers can write to GPU memory directly, and not read from it.";
  case Verdict::ReadOnly:
    return "Peers can read from GPU memory directly, and not write to it.";
  case Verdict::Unknown:
    return "Whether peers reach GPU memory directly cannot be seen: it has to be tried.";
  case Verdict::Staged:
    return "Peers do not reach GPU memory directly: frames go through host memory.";
  case Verdict::Blocked:
    return "Nothing here gives a peer access to GPU memory.";
  }
  return "";
}

} // namespace

std::string doctorText(const DoctorReport& report, bool colour) {
  std::string text = conclusion(report.verdict);
  if(colour)
    text = (report.verdict <= Verdict::Unknown ? "\033[32m" : "\033[31m") + text + "\033[0m";
  text +=
      "\n" + visible(fmt::format("Linux {}{}{}", report.kernel.empty() ? "?" : report.kernel.substr(0, 48),
                                 report.driver.empty() ? "" : ", NVIDIA ", report.driver.substr(0, 32)));
  text += "\n\n" + visible(doctorTree(report));
  text += (report.devices.empty() ? "" : "\n") + visible(pairsText(report));
  for(const Finding& finding : report.findings)
    text += findingText(finding, colour);
  if(report.findings.empty())
    text += "Nothing to complain about.\n";
  for(const std::string& what : report.rootWouldAdd)
    text += visible(wrapped("", "Run it as root to see " + what + ".", 0));
  return text;
}

std::string explanationText(const std::vector<Explanation>& explanations) {
  std::string text;
  for(const Explanation& explanation : explanations) {
    text += visible(wrapped("", fmt::format("{} [{}]", explanation.matched, explanation.finding), 0));
    std::size_t rank = 0;
    for(const char* cause : explanation.causes)
      text += visible(wrapped(fmt::format("  {}.", ++rank), cause, 5));
  }
  return text;
}

} // namespace rdmagpu::cli
