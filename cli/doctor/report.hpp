#pragma once
#include <rdmagpu/doctor.hpp>

#include <string>
#include <vector>

namespace rdmagpu::cli {

/// The report as a page of 100 columns; whatever the machine's files hold, no control characters.
std::string doctorText(const DoctorReport& report, bool colour);
/// As docs/doctor.schema.json has it.
std::string doctorJson(const DoctorReport& report);

std::string explanationText(const std::vector<Explanation>& explanations);
std::string explanationJson(const std::vector<Explanation>& explanations);

/// The PCI tree of the GPUs and peers, a line for each and for each bridge on the way.
std::string doctorTree(const DoctorReport& report);

} // namespace rdmagpu::cli
