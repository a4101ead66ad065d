#include <doctor/findings.hpp>
#include <doctor/steps.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace rdmagpu::doctor {
namespace {

constexpr std::array kinds{StepKind::DriverLibrary, StepKind::Device, StepKind::Attributes,
                           StepKind::Allocation,    StepKind::Reach,  StepKind::Export,
                           StepKind::Registration,  StepKind::Write,  StepKind::Read};
constexpr std::array answers{Answer::Unknown, Answer::No, Answer::Yes};
constexpr std::array routes{Route::DmaBuf, Route::PeerMemory, Route::NvidiaP2p, Route::Host};
constexpr std::array agents{Agent::None, Agent::Cpu, Agent::CopyEngine, Agent::Software, Agent::Device};
constexpr const char* nothing = "-";

template <class Values>
auto named(const Values& values, std::string_view word) -> std::optional<typename Values::value_type> {
  for(const auto value : values) {
    if(word == name(value))
      return value;
  }
  return {};
}

std::string orNothing(const std::string& text) { return text.empty() ? nothing : text; }

std::string unlessNothing(std::string_view word) {
  return word == nothing ? std::string{} : std::string{word};
}

std::optional<DoctorStep> parseStep(std::string_view line) {
  constexpr std::size_t heads = 6;
  const auto fields = words(line);
  if(fields.size() < heads)
    return {};
  const auto kind = named(kinds, fields[0]);
  const auto result = named(answers, fields[1]);
  const auto route = named(routes, fields[4]);
  const auto by = named(agents, fields[5]);
  if(!kind || !result || !by || (!route && fields[4] != nothing))
    return {};
  const auto end = static_cast<std::size_t>(fields[5].data() + fields[5].size() - line.data());
  return DoctorStep{.kind = *kind,
                    .result = *result,
                    .gpu = unlessNothing(fields[2]),
                    .peer = unlessNothing(fields[3]),
                    .route = route,
                    .by = *by,
                    .says = std::string{trim(line.substr(end))}};
}

/// An export went well says nothing of whether peers reach the memory: such memory is exported, too.
bool proves(StepKind tried, SettledBy wanted) noexcept {
  const auto rank = static_cast<unsigned>(tried) + 1;
  if(tried == StepKind::Export)
    return wanted == SettledBy::Export || wanted <= SettledBy::Allocation;
  return rank >= static_cast<unsigned>(wanted);
}

} // namespace

std::string stepsText(const std::vector<DoctorStep>& steps) {
  std::string text;
  for(const DoctorStep& step : steps) {
    std::string says = step.says;
    std::replace(says.begin(), says.end(), '\n', ' ');
    text += std::string{name(step.kind)} + " " + name(step.result) + " " + orNothing(step.gpu) + " " +
            orNothing(step.peer) + " " + (step.route ? name(*step.route) : nothing) + " " + name(step.by) +
            " " + says + "\n";
  }
  return text;
}

std::vector<DoctorStep> parseSteps(std::string_view text) {
  constexpr std::size_t most = 4096;
  std::vector<DoctorStep> steps;
  for(const std::string_view line : lines(text)) {
    if(auto step = parseStep(line); step && steps.size() < most)
      steps.push_back(*std::move(step));
  }
  return steps;
}

Result<std::vector<DoctorStep>> stepsOf(const Machine& machine, const DoctorOptions& options) {
  if(options.root.empty() || options.tryMemory)
    return trySteps(machine, options);
  return parseSteps(machine.root.read(stepsFile, 1U << 20).value_or(""));
}

bool isSettled(const Findings& findings, const Check& check, const std::string& gpu, const std::string& peer,
               Route route) noexcept {
  bool written = false;
  bool read = false;
  for(const DoctorStep& step : findings.steps) {
    if(step.result == Answer::Unknown || step.gpu != gpu || (!step.peer.empty() && step.peer != peer) ||
       (step.route && *step.route != route))
      continue;
    written |= step.kind == StepKind::Write && step.by == Agent::Device;
    read |= step.kind == StepKind::Read && step.by == Agent::Device;
    if(check.settledBy != SettledBy::Nothing && check.settledBy != SettledBy::Transfer &&
       step.result == Answer::Yes && proves(step.kind, check.settledBy))
      return true;
  }
  return check.settledBy == SettledBy::Transfer && written && read;
}

} // namespace rdmagpu::doctor
