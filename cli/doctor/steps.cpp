#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace rdmagpu::cli {
namespace {

std::string stepName(const DoctorStep& step) {
  std::string text = name(step.kind);
  if(!step.peer.empty())
    text +=
        fmt::format(" of {}{}{}", step.peer, step.route ? " by " : "", step.route ? name(*step.route) : "");
  if(step.result == Answer::Yes && step.by == Agent::Software)
    text += " (in software)";
  return text;
}

/// The steps of one GPU.
std::string gpuText(const std::vector<DoctorStep>& steps, const std::string& gpu) {
  std::string well;
  std::string badly;
  std::vector<std::pair<std::string, std::string>> left; // why, and which
  for(const DoctorStep& step : steps) {
    if(step.gpu != gpu)
      continue;
    if(step.result == Answer::Yes) {
      well += (well.empty() ? "" : ", ") + stepName(step);
    } else if(step.result == Answer::No) {
      badly += wrapped("  no:", fmt::format("{}: {}", stepName(step), step.says), 10);
    } else {
      const auto known =
          std::find_if(left.begin(), left.end(), [&](const auto& one) { return one.first == step.says; });
      if(known == left.end())
        left.emplace_back(step.says, stepName(step));
      else
        known->second += ", " + stepName(step);
    }
  }
  std::string text =
      wrapped("", fmt::format("Tried {}: {}", gpu, well.empty() ? "nothing went well" : well), 0);
  text += badly;
  for(const auto& [why, which] : left)
    text += wrapped("  untried:", fmt::format("{} ({})", which, why), 11);
  return text;
}

} // namespace

std::string doctorSteps(const DoctorReport& report) {
  std::vector<std::string> gpus;
  for(const DoctorStep& step : report.steps) {
    if(std::find(gpus.begin(), gpus.end(), step.gpu) == gpus.end())
      gpus.push_back(step.gpu);
  }
  std::string text;
  for(const std::string& gpu : gpus)
    text += visible(gpuText(report.steps, gpu));
  return text.empty() ? text : text + '\n';
}

} // namespace rdmagpu::cli
