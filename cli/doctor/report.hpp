#pragma once
#include <rdmagpu/doctor.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rdmagpu::cli {

/// The report as a page of 100 columns; whatever the machine's files hold, no control characters.
std::string doctorText(const DoctorReport& report, bool colour);
/// As docs/doctor.schema.json has it.
std::string doctorJson(const DoctorReport& report);

std::string explanationText(const std::vector<Explanation>& explanations);
std::string explanationJson(const std::vector<Explanation>& explanations);

/// What was tried of each GPU: what went well in a line, then what did not, and what was not tried, and why.
std::string doctorSteps(const DoctorReport& report);

/// The PCI tree of the GPUs and peers, a line for each and for each bridge on the way.
std::string doctorTree(const DoctorReport& report);

/// Words of `text` in lines of at most 100 columns that begin with `indent` spaces, the first with `label`.
std::string wrapped(const std::string& label, std::string_view text, std::size_t indent);
/// What comes out of files may be anything; only what can be seen is shown.
std::string visible(std::string text);

} // namespace rdmagpu::cli
