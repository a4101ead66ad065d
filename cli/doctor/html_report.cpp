#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace rdmagpu::cli {
namespace {

constexpr const char* head = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
                             "charset=\"utf-8\">\n<title>rdmagpu doctor</title>\n<style>\n"
                             "body{font:15px/1.45 sans-serif;margin:2em auto;max-width:75em;padding:0 "
                             "1em;color:#222;background:#fff}\n"
                             "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid "
                             "#ccc;padding:.25em .6em;text-align:left;"
                             "vertical-align:top}\nsvg{font:13px sans-serif}code{background:#f2f2f2}\n"
                             ".direct{color:#17722b}.write-only,.read-only,.unknown,.warning{color:#8a5a00}."
                             "staged,.blocked,.blocker,.no"
                             "{color:#a31919}\n</style>\n</head>\n<body>\n";

/// Text of files, as text of HTML.
std::string escaped(const std::string& text) {
  std::string clean;
  for(const char c : visible(text)) {
    switch(c) {
    case '&':
      clean += "&amp;";
      break;
    case '<':
      clean += "&lt;";
      break;
    case '>':
      clean += "&gt;";
      break;
    case '"':
      clean += "&quot;";
      break;
    default:
      clean += c;
    }
  }
  return clean;
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string text = "<tr>";
  for(const std::string& cell : cells)
    text += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return text + "</tr>\n";
}

/// In a colour of its own, and named, so that nobody needs to see it.
std::string coloured(const char* word) { return fmt::format("<span class=\"{0}\">{0}</span>", word); }

const char* strokeOf(Verdict verdict) noexcept {
  switch(verdict) {
  case Verdict::Direct:
    return "stroke=\"#17722b\"";
  case Verdict::WriteOnly:
  case Verdict::ReadOnly:
  case Verdict::Unknown:
    return "stroke=\"#8a5a00\" stroke-dasharray=\"6 4\"";
  case Verdict::Staged:
  case Verdict::Blocked:
    return "stroke=\"#a31919\" stroke-dasharray=\"2 4\"";
  }
  return "";
}

const char* fillOf(MachineRole role) noexcept {
  switch(role) {
  case MachineRole::Bridge:
    return "#eeeeee";
  case MachineRole::Gpu:
    return "#d9efd5";
  case MachineRole::Nic:
  case MachineRole::Card:
    return "#d8e6f7";
  }
  return "";
}

/// The PCI tree as boxes, one below the other, and on their right a bow from each GPU to each peer.
class Picture {
public:
  explicit Picture(const DoctorReport& report) : m_report(report), m_devices(doctorTreeOrder(report)) {}

  std::string text() const {
    std::string inside;
    for(std::size_t i = 0; i < m_devices.size(); ++i)
      inside += box(i);
    std::size_t lane = 0;
    for(const PairVerdict& pair : m_report.pairs) {
      if(pair.route != Route::Host)
        inside += bow(pair, lane++ % lanes);
    }
    return fmt::format("<svg role=\"img\" aria-label=\"PCI tree\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
                       "{0} {1}\">\n{2}</svg>\n",
                       right + lanes * laneWidth + 20, m_devices.size() * rowHeight + 10, inside);
  }

private:
  static constexpr std::size_t rowHeight = 34;
  static constexpr std::size_t step = 26;
  static constexpr std::size_t right = 760;
  static constexpr std::size_t lanes = 12;
  static constexpr std::size_t laneWidth = 12;
  static constexpr std::size_t deepest = 16;

  static std::size_t left(const MachineDevice& device) {
    return 5 + std::min(device.path.empty() ? 0 : device.path.size() - 1, deepest) * step;
  }
  static std::size_t middle(std::size_t index) { return index * rowHeight + rowHeight / 2; }

  std::string box(std::size_t index) const {
    const MachineDevice& device = *m_devices[index];
    std::string text;
    for(std::size_t above = index; above-- > 0 && device.path.size() > 1;) {
      const MachineDevice& parent = *m_devices[above];
      if(parent.path.size() + 1 != device.path.size() ||
         !std::equal(parent.path.begin(), parent.path.end(), device.path.begin()))
        continue;
      text = fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#888\"/>\n", left(parent) + 10,
                         middle(above) + 12, middle(index), left(device));
      break;
    }
    constexpr std::size_t mostLetters = 80;
    return text +
           fmt::format(
               "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"24\" rx=\"4\" fill=\"{3}\" stroke=\"#888\"/>"
               "<text x=\"{4}\" y=\"{5}\">{6}</text>\n",
               left(device), middle(index) - 12, right - left(device), fillOf(device.role), left(device) + 8,
               middle(index) + 5, escaped(doctorDeviceText(device).substr(0, mostLetters)));
  }

  std::string bow(const PairVerdict& pair, std::size_t lane) const {
    const auto place = [&](const std::string& id) {
      const auto found = std::find_if(m_devices.begin(), m_devices.end(),
                                      [&](const MachineDevice* device) { return device->id == id; });
      return static_cast<std::size_t>(found - m_devices.begin());
    };
    const std::size_t from = place(pair.gpu);
    const std::size_t to = place(pair.peer);
    if(from == m_devices.size() || to == m_devices.size())
      return {};
    return fmt::format(
        "<path d=\"M{0} {1}H{2}V{3}H{0}\" fill=\"none\" stroke-width=\"2\" {4}><title>{5}</title></path>\n",
        right, middle(from), right + (lane + 1) * laneWidth, middle(to), strokeOf(pair.verdict),
        escaped(fmt::format("{} - {} by {}: {}", pair.gpu, pair.peer, name(pair.route), name(pair.verdict))));
  }

  const DoctorReport& m_report;
  std::vector<const MachineDevice*> m_devices;
};

std::string pairsTable(const DoctorReport& report) {
  std::string text = "<h2>GPUs and peers</h2>\n<table>\n" +
                     row({"GPU", "peer", "route", "verdict", "by", "distance", "because of"}, "th");
  for(const PairVerdict& pair : report.pairs) {
    std::string because;
    for(const char* id : pair.because)
      because += fmt::format("{}<a href=\"#{}\">{}</a>", because.empty() ? "" : ", ", id, id);
    text +=
        row({escaped(pair.gpu), pair.peer.empty() ? "any peer" : escaped(pair.peer), name(pair.route),
             coloured(name(pair.verdict)), pair.tried ? "trying" : "files", name(pair.distance), because});
  }
  return report.pairs.empty() ? std::string{} : text + "</table>\n";
}

std::string stepsTable(const DoctorReport& report) {
  std::string text =
      "<h2>What was tried</h2>\n<table>\n" + row({"GPU", "step", "peer", "route", "result", "seen"}, "th");
  for(const DoctorStep& step : report.steps)
    text += row({escaped(step.gpu), name(step.kind), escaped(step.peer), step.route ? name(*step.route) : "",
                 coloured(name(step.result)), escaped(step.says)});
  return report.steps.empty() ? std::string{} : text + "</table>\n";
}

std::string findingsList(const DoctorReport& report) {
  std::string text = "<h2>Findings</h2>\n";
  for(const Finding& finding : report.findings) {
    text += fmt::format("<h3 id=\"{}\">{}: {} [{}]</h3>\n<p>Seen: {}</p>\n", finding.id,
                        coloured(name(finding.severity)), escaped(finding.title), finding.id,
                        escaped(finding.evidence));
    if(!finding.fix.empty())
      text += fmt::format("<p>Do: <code>{}</code></p>\n", escaped(finding.fix));
    if(*finding.risk)
      text += fmt::format("<p>Risk: {}</p>\n", escaped(finding.risk));
  }
  return report.findings.empty() ? text + "<p>Nothing to complain about.</p>\n" : text;
}

} // namespace

std::string doctorHtml(const DoctorReport& report) {
  std::string text = head;
  text += fmt::format("<h1>{}</h1>\n<p>Linux {}{}{}</p>\n", doctorConclusion(report.verdict),
                      report.kernel.empty() ? "?" : escaped(report.kernel),
                      report.driver.empty() ? "" : ", NVIDIA ", escaped(report.driver));
  if(!report.devices.empty())
    text += Picture(report).text();
  text += pairsTable(report) + stepsTable(report) + findingsList(report);
  for(const std::string& what : report.rootWouldAdd)
    text += fmt::format("<p>Run it as root to see {}.</p>\n", escaped(what));
  return text + "</body>\n</html>\n";
}

} // namespace rdmagpu::cli
