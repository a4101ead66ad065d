#include <os/process.hpp>

namespace rdmagpu::os {

// Windows has no fork: what a process holds is its own.
Result<std::uint64_t> identifyProcess() noexcept { return currentProcess(); }

std::uint64_t currentProcess() noexcept { return 1; }

} // namespace rdmagpu::os
