#include "json.hpp"
#include "report.hpp"

namespace rdmagpu::cli {
namespace {

constexpr int schemaVersion = 1;

Json textOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json toJson(const Finding& finding) {
  return {{"id", finding.id},
          {"severity", name(finding.severity)},
          {"title", finding.title},
          {"evidence", finding.evidence},
          {"fix", finding.fix},
          {"risk", finding.risk},
          {"device", textOrNull(finding.device)}};
}

Json toJson(const PairVerdict& pair) {
  Json because = Json::array();
  for(const char* id : pair.because)
    because.push_back(id);
  return {{"gpu", pair.gpu},
          {"peer", textOrNull(pair.peer)},
          {"route", name(pair.route)},
          {"verdict", name(pair.verdict)},
          {"distance", name(pair.distance)},
          {"because", because},
          {"tried", pair.tried}};
}

Json toJson(const DoctorStep& step) {
  return {{"step", name(step.kind)},
          {"result", name(step.result)},
          {"gpu", textOrNull(step.gpu)},
          {"peer", textOrNull(step.peer)},
          {"route", step.route ? Json(name(*step.route)) : Json()},
          {"by", name(step.by)},
          {"says", step.says}};
}

Json toJson(const MachineDevice& device) {
  return {{"role", name(device.role)},
          {"id", device.id},
          {"name", textOrNull(device.name)},
          {"driver", textOrNull(device.driver)},
          {"path", Json(device.path)},
          {"bar_bytes", device.bar ? Json(*device.bar) : Json()},
          {"numa_node", device.numaNode >= 0 ? Json(device.numaNode) : Json()},
          {"link", textOrNull(device.link)}};
}

template <class T>
Json arrayOf(const std::vector<T>& values) {
  Json array = Json::array();
  for(const T& value : values)
    array.push_back(toJson(value));
  return array;
}

} // namespace

std::string doctorJson(const DoctorReport& report) {
  return jsonText({{"schema", schemaVersion},
                   {"verdict", name(report.verdict)},
                   {"kernel", textOrNull(report.kernel)},
                   {"driver", textOrNull(report.driver)},
                   {"findings", arrayOf(report.findings)},
                   {"steps", arrayOf(report.steps)},
                   {"pairs", arrayOf(report.pairs)},
                   {"devices", arrayOf(report.devices)},
                   {"root_would_add", Json(report.rootWouldAdd)}});
}

std::string explanationJson(const std::vector<Explanation>& explanations) {
  Json all = Json::array();
  for(const Explanation& explanation : explanations) {
    Json causes = Json::array();
    for(const char* cause : explanation.causes)
      causes.push_back(cause);
    all.push_back({{"matched", explanation.matched}, {"finding", explanation.finding}, {"causes", causes}});
  }
  return jsonText({{"schema", schemaVersion}, {"explanations", all}});
}

} // namespace rdmagpu::cli
