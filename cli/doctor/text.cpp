#include "human.hpp"
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace rdmagpu::cli {
namespace {

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
  std::vector<std::vector<std::string>> rows{
      {"GPU", "PEER", "ROUTE", "VERDICT", "BY", "DISTANCE", "BECAUSE OF"}};
  for(const PairVerdict& pair : report.pairs)
    rows.push_back({pair.gpu, pair.peer.empty() ? "any peer" : pair.peer.substr(0, 16), name(pair.route),
                    name(pair.verdict), pair.tried ? "trying" : "files",
                    pair.distance == Distance::Unknown ? "-" : name(pair.distance),
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
  text += doctorSteps(report);
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
