#pragma once
#include <doctor/machine.hpp>
#include <rdmagpu/doctor.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::doctor {

/// Where a recorded machine has the steps that were tried on it.
constexpr const char* stepsFile = "/rdmagpu/steps";

/// Those that were recorded with the machine, or are tried here: see DoctorOptions. An Error: no memory.
Result<std::vector<DoctorStep>> stepsOf(const Machine&, const DoctorOptions&);

/// Tries them on this machine.
Result<std::vector<DoctorStep>> trySteps(const Machine&, const DoctorOptions&);

/// Steps as text, one a line: kind, result, GPU, peer, route, who moved the bytes, and what was seen. A word
/// that is not known, or a line with too few of them, is no step.
std::string stepsText(const std::vector<DoctorStep>&);
std::vector<DoctorStep> parseSteps(std::string_view text);

} // namespace rdmagpu::doctor
