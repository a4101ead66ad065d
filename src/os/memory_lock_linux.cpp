#include <os/calls_linux.hpp>
#include <os/files.hpp>
#include <os/memory_lock.hpp>

namespace rdmagpu::os {

std::optional<std::uint64_t> pinnableBytes(const std::string& root) {
  rlimit limit{};
  if(call::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return {};
  const auto status = readIfThere(root + "/proc/self/status");
  const std::uint64_t pinned = status ? numberAfter(*status, "VmPin:").value_or(0) * 1024 : 0;
  return limit.rlim_cur > pinned ? limit.rlim_cur - pinned : 0;
}

} // namespace rdmagpu::os
