#include <os/calls_windows.hpp>
#include <os/memory_budget.hpp>

#include <algorithm>

namespace rdmagpu::os {

std::optional<std::uint64_t> memoryBudget(const std::string&) {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if(!call::memoryStatus(&status))
    return {};
  std::uint64_t least = std::min<std::uint64_t>(status.ullAvailPhys, status.ullAvailPageFile);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  if(::QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &limits, sizeof limits,
                                 nullptr) &&
     (limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY)) {
    PROCESS_MEMORY_COUNTERS used{};
    if(::K32GetProcessMemoryInfo(::GetCurrentProcess(), &used, sizeof used)) {
      const std::uint64_t limit = limits.ProcessMemoryLimit;
      least = std::min(least, limit - std::min<std::uint64_t>(limit, used.PagefileUsage));
    }
  }
  return least;
}

std::optional<std::uint64_t> hugePageBudget(const std::string&) { return {}; } // there is no pool of them

} // namespace rdmagpu::os
